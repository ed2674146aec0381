import type { ExtensionContext, Finding } from '../../src/plugin.ts';
import { servesChat } from './models-in-scope.ts';
import { operatorOf, type Page, type PageRequest } from './page-request.ts';
import { localPage, PageError, redirect } from './page-response.ts';
import { minuteOf, muted } from './view/format.ts';
import { type Html, html } from './view/html.ts';
import { stateMark } from './view/provider-table.ts';
import { postForm } from './view/shell.ts';
import type { Column } from './view/table.ts';

/** What a test of a provider has found last. */
interface Tested {
  readonly at_ms: number;
  readonly actor: string;
  readonly findings: readonly Finding[];
}

/** Last results of each gateway in this process, by provider and model there: at most one for each upstream. */
const results = new WeakMap<ExtensionContext, Map<string, Tested>>();

/** A model there; empty for none, of which no token is asked. */
interface TestedPlace {
  readonly provider: string;
  readonly model: string;
}

const keyOf = ({ provider, model }: TestedPlace): string => `${provider}\n${model}`;

/** Tests a connection and goes back to the page that asked for it, which shows the result. */
export const providerTestPage: Page = {
  name: 'provider-test',
  readers: ['admin'],
  post: async request => {
    const { context, form } = request;
    const place = { provider: form.get('provider') ?? '', model: form.get('model') ?? '' };
    const isServed = ({ upstreams }: (typeof context.catalog.models)[number]) =>
      upstreams.some(({ provider, model }) => provider === place.provider && model === place.model);
    const served = context.catalog.models.filter(isServed);
    if (place.model !== '' && served.length === 0)
      throw new PageError(404, 'No model is served from there.', 'Load the page again.');
    const findings = await context.testProvider(
      place.provider,
      served.some(servesChat) ? place.model : undefined,
    );
    const { actor, at_ms } = operatorOf(request);
    context.log.info({ actor, ...place, findings }, 'provider tested');
    const known = results.get(context) ?? new Map<string, Tested>();
    results.set(context, known.set(keyOf(place), { actor, at_ms, findings }));
    return redirect(localPage(form.get('back')));
  },
};

/** A button in each row that tests its connection, and what the last test has found; nothing for those who may not. */
export function testColumns<R>(request: PageRequest, placeOf: (row: R) => TestedPlace): Column<R>[] {
  const { context, path, query, scope } = request;
  if (!scope.sees.configuration) return [];
  const cell = (row: R) => {
    const { provider, model } = placeOf(row);
    const what = model === '' ? 'the list of models' : `one token of ${model}`;
    const tested = results.get(context)?.get(keyOf({ provider, model }));
    const fields = html`<input type="hidden" name="provider" value="${provider}"><input type="hidden" name="model" value="${model}">
<input type="hidden" name="back" value="${path}?${query.toString()}"><button class="small" title="Asks ${provider} for ${what}" aria-label="Test ${provider}: ${what}">Test</button>`;
    return html`${postForm(request, 'provider-test', fields)}${tested && resultOf(tested)}`;
  };
  return [{ title: 'Connection', cell }];
}

const tones = { ok: 'good', warning: 'warn', fault: 'bad' } as const;

const resultOf = ({ at_ms, actor, findings }: Tested): Html =>
  html`${findings.map(
    ({ status, found, remedy }) =>
      html`<p>${stateMark({ label: status, tone: tones[status] })} ${found}${remedy !== undefined && html`: ${remedy}`}</p>`,
  )}${muted(`${minuteOf(at_ms)}, ${actor}`)}`;
