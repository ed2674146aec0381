import type { DashboardContext } from '../dashboard-context.ts';
import { type LiveFigures, liveFigures } from '../live-figures.ts';
import { nearLimits } from '../near-limits.ts';
import type { Page } from '../page-request.ts';
import { jsonResponse } from '../page-response.ts';
import { dayOf } from '../usage-question.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { errorTable, nearLimitList } from '../view/overview-parts.ts';
import { providerTable } from '../view/provider-table.ts';
import { pageResponse } from '../view/shell.ts';
import { dollars } from '../view/usage-table.ts';

/** State of this instance, kept up to date by its script. */
export const overviewPage: Page = {
  name: '',
  get: async request => {
    const { context } = request;
    const [figures, near, cost] = await Promise.all([
      liveFigures(context.metrics.registry),
      nearLimits(context),
      costToday(context),
    ]);
    return pageResponse(request, {
      title: 'Overview',
      section: '',
      scripts: ['overview.js'],
      beside: html`<span class="muted" id="live">This instance</span>`,
      body: html`${tiles(context, cost)}
<div class="columns">
${panel('limits', 'Limits near exhaustion', nearLimitList(near))}
${panel('errors', 'Errors by type', errorTable(figures))}
</div>
${panel('providers', 'Providers', providerTable(context))}`,
    });
  },
};

/** Polled by the overview's script; `full=yes` adds what needs the state and records stores. */
export const overviewFiguresPage: Page = {
  name: 'overview-figures',
  get: async ({ context, query }) => {
    const figures = await liveFigures(context.metrics.registry);
    return jsonResponse({
      at_ms: context.clock.elapsed_ms(),
      in_flight: context.inFlight(),
      ...totalsOf(figures),
      html: {
        errors: errorTable(figures).text,
        providers: providerTable(context).text,
        ...(query.get('full') === 'yes' && {
          cost: dollars(await costToday(context)).text,
          limits: nearLimitList(await nearLimits(context)).text,
        }),
      },
    });
  },
};

const totalsOf = ({ requests, errors, tokens, first_tokens }: LiveFigures) => ({
  requests,
  errors: Object.values(errors).reduce((sum, count) => sum + count, 0),
  tokens,
  first_tokens,
});

async function costToday({ records, clock }: DashboardContext): Promise<string> {
  const day = dayOf(clock.epoch_ms());
  const [sum] = await records.store.usage.sum({ from_day: day, to_day: day, by: [] });
  return sum?.cost_usd ?? '0';
}

function tiles(context: DashboardContext, cost: string): Html {
  return html`<dl class="figures tiles">
${tile('Requests', 'requests', 'per second, with errors', '–', 'requests and of errors')}
${tile('Tokens', 'tokens', 'per second, as requests end', '–', 'tokens')}
${tile('First token', 'first-token', 'p50 · p99 of streams', '–', 'time to first token')}
${tile('In flight', 'in-flight', 'requests', context.inFlight(), 'requests in flight')}
<div class="figure panel"><dt>Cost today</dt><dd><strong data-part="cost">${dollars(cost)}</strong> <span class="muted">of all instances, in UTC</span></dd></div>
</dl>`;
}

const tile = (title: string, name: string, unit: string, value: Part, drawn: string): Html =>
  html`<div class="figure panel"><dt>${title}</dt><dd><strong data-figure="${name}">${value}</strong> <span class="muted">${unit}</span>
<svg class="lines" data-lines="${name}" role="img" aria-label="The last minutes of ${drawn}" viewBox="0 0 100 30" preserveAspectRatio="none"></svg></dd></div>`;

const panel = (name: string, title: string, body: Part): Html =>
  html`<section class="panel" aria-labelledby="${name}"><h2 id="${name}">${title}</h2><div data-part="${name}">${body}</div></section>`;
