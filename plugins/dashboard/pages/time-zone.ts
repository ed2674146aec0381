import type { Page, PageRequest } from '../page-request.ts';
import { localPage, PageError, type PageResponse, redirect } from '../page-response.ts';
import { minuteOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { choiceField } from '../view/search-form.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { zone_cookie, zoneName, zoneNamed } from '../view/time-zone.ts';

/** As long as browsers keep a cookie. */
const kept_s = 400 * 86_400;

/** In which zone this browser shows times: that of the browser is proposed by its script. */
export const timeZonePage: Page = { name: 'time-zone', get: shown, post: choose, changesNothing: true };

function shown(request: PageRequest): PageResponse {
  const chosen = zoneName();
  const zones = new Set(['UTC', chosen, ...Intl.supportedValuesOf('timeZone')]);
  const fields = html`<input type="hidden" name="next" value="${pageBefore(request)}">
${choiceField(
  'Time zone',
  'zone',
  [...zones].map(zone => [zone, zone]),
  chosen,
)}
<button class="primary">Show times in this zone</button>`;
  return pageResponse(request, {
    title: 'Time zone',
    section: '',
    scripts: ['time-zone.js'],
    body: html`<section class="panel" aria-label="Time zone">
<p>Times on all pages, and those that you type, are in ${chosen}: it is ${minuteOf(request.context.clock.epoch_ms())}. Days of usage, budgets and statements are days of UTC in any case, since the ledger is summed up by these; files have UTC as well.</p>
${postForm(request, 'time-zone', fields, 'row')}
</section>`,
  });
}

/** The page from which its reader comes, as browsers tell other pages of this site. */
function pageBefore({ incoming: { headers } }: PageRequest): string {
  const { pathname, search } = URL.parse(headers.referer ?? '') ?? { pathname: '', search: '' };
  return localPage(`${pathname.split('/').at(-1)}${search}`);
}

function choose({ form, cookies }: PageRequest): PageResponse {
  const zone = zoneNamed(form.get('zone') ?? '');
  if (zone === undefined) throw new PageError(422, 'There is no such time zone.', 'Choose one of the list.');
  cookies.putPlain(zone_cookie, zone, kept_s);
  return redirect(localPage(form.get('next')));
}
