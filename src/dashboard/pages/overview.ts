import { dayOf } from '../../stores/records/calendar-day.ts';
import { type NearLimit, nearLimits } from '../account-view.ts';
import { type LiveFigures, liveFigures } from '../live-figures.ts';
import type { DashboardContext, Page } from '../page-request.ts';
import { jsonResponse } from '../page-response.ts';
import { linkOf, numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { limitBar } from '../view/limit-bars.ts';
import { dollars } from '../view/money.ts';
import { providerTable } from '../view/provider-table.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { emptyState, tableOf } from '../view/table.ts';

/** State of this instance, kept up to date by its script. */
export const overviewPage: Page = {
  name: '',
  get: async request => {
    const { context } = request;
    const [figures, { cost, limits }] = await Promise.all([
      liveFigures(context.metrics.registry),
      storedParts(context),
    ]);
    const part = (name: string, title: string, body: Html) =>
      panel(name, title, html`<div data-part="${name}">${body}</div>`);
    return pageResponse(request, {
      title: 'Overview',
      section: '',
      scripts: ['overview.js'],
      beside: html`<span class="muted" id="live">This instance</span>`,
      body: html`<dl class="figures tiles">
${tile('Requests', 'requests', 'per second, with errors', '–', 'requests and of errors')}
${tile('Tokens', 'tokens', 'per second, as requests end', '–', 'tokens')}
${tile('First token', 'first-token', 'p50 · p99 of streams', '–', 'time to first token')}
${tile('In flight', 'in-flight', 'requests', context.inFlight(), 'requests in flight')}
<div class="figure panel"><dt>Cost today</dt><dd><strong data-part="cost">${cost}</strong> <span class="muted">of all instances, in UTC</span></dd></div>
</dl>
<div class="columns">
${part('limits', 'Limits near exhaustion', limits)}
${part('errors', 'Errors by type', errorTable(figures))}
</div>
${part('providers', 'Providers', providerTable(context))}`,
    });
  },
};

/** Polled by the overview's script; `full=yes` adds what needs the state and records stores. */
export const overviewFiguresPage: Page = {
  name: 'overview-figures',
  get: async ({ context, query }) => {
    const { errors, ...figures } = await liveFigures(context.metrics.registry);
    const stored = query.get('full') === 'yes' ? await storedParts(context) : {};
    const parts = {
      errors: errorTable({ errors, ...figures }),
      providers: providerTable(context),
      ...stored,
    };
    return jsonResponse({
      at_ms: context.clock.elapsed_ms(),
      in_flight: context.inFlight(),
      ...figures,
      errors: Object.values(errors).reduce((sum, count) => sum + count, 0),
      html: Object.fromEntries(Object.entries(parts).map(([name, { text }]) => [name, text])),
    });
  },
};

/** Parts that need the state and records stores. */
async function storedParts(context: DashboardContext) {
  const day = dayOf(context.clock.epoch_ms());
  const [[sum], near] = await Promise.all([
    context.records.store.usage.sum({ from_day: day, to_day: day, by: [] }),
    nearLimits(context),
  ]);
  return { cost: dollars(sum?.cost_usd ?? '0'), limits: nearLimitList(near) };
}

const tile = (title: string, name: string, unit: string, value: Part, drawn: string): Html =>
  html`<div class="figure panel"><dt>${title}</dt><dd><strong data-figure="${name}">${value}</strong> <span class="muted">${unit}</span>
<svg class="lines" data-lines="${name}" role="img" aria-label="The last minutes of ${drawn}" viewBox="0 0 100 30" preserveAspectRatio="none"></svg></dd></div>`;

function errorTable({ errors, requests }: LiveFigures): Html {
  const rows = Object.entries(errors);
  if (rows.length === 0)
    return html`<p class="muted">${requests === 0 ? 'No request has ended yet.' : 'No request has failed since this process began.'}</p>`;
  const share = (count: number) => `${((count / requests) * 100).toFixed(1)} %`;
  return tableOf(
    'Errors since the start, by type',
    [
      { title: 'Type', cell: ([type]) => html`<code>${type}</code>`, isName: true },
      { title: 'Since start', cell: ([, count]) => numberOf(count), isNumber: true },
      { title: 'Of all requests', cell: ([, count]) => share(count), isNumber: true },
    ],
    rows,
  );
}

function nearLimitList(near: readonly NearLimit[] | 'out'): Html {
  if (near === 'out') return html`<p class="notice warn">Unknown: the state store does not answer.</p>`;
  if (near.length === 0)
    return emptyState(
      'No active account has used any of its limits.',
      html`Only recently active accounts are listed. Give them plans under <a href="accounts">Accounts</a>.`,
    );
  return html`<ul class="limits">${near.map(
    ({ account, use }) =>
      html`<li><a href="${linkOf('account', { id: account })}">${account}</a><ul class="limits">${limitBar(use)}</ul></li>\n`,
  )}</ul>`;
}
