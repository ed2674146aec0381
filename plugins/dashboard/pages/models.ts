import { catalogEntry, type ExtensionContext, type Model, type Upstream } from '../../../src/plugin.ts';
import type { Page } from '../page-request.ts';
import { durationOf, muted, numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import {
  providerState,
  providerTable,
  type State,
  shownProviders,
  stateMark,
} from '../view/provider-table.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { emptyState, tableOf } from '../view/table.ts';

/** The catalog as clients see it, and the upstreams of each model with their states. */
export const modelsPage: Page = {
  name: 'models',
  get: async request => {
    const { context } = request;
    const { models } = context.catalog;
    const money = request.scope.sees.money;
    return pageResponse(request, {
      title: 'Models and providers',
      section: 'models',
      beside: muted('States are those of this instance.'),
      body: html`${panel('providers', 'Providers', await providers(context))}
${models.length === 0 ? noModels : models.map((model, at) => modelPanel(context, model, at, money))}`,
    });
  },
};

const providers = async (context: ExtensionContext): Promise<Html> =>
  context.providers.length === 0
    ? emptyState('There are no providers.', html`Name one under <code>providers</code> in the configuration.`)
    : providerTable(context, await shownProviders(context));

const noModels = html`<section class="panel" aria-label="Models">${emptyState('The catalog has no models.', html`List them under <code>models</code> in the configuration.`)}</section>`;

function modelPanel(context: ExtensionContext, model: Model, at: number, money: boolean): Html {
  const { id, name, description } = model;
  return html`<section class="panel" aria-labelledby="model-${at}"><h2 id="model-${at}"><code>${id}</code></h2>
<p>${name}${description && html` <span class="muted">${description}</span>`}</p>
${modelFacts(model, money)}
${upstreamTable(id, context.upstreamsOf(id), context.clock.elapsed_ms())}
${catalogDetails(model, money)}
</section>`;
}

/** Abilities of a model, and its prices if `money` is set. */
export function modelFacts(model: Model, money: boolean): Html {
  const { context_length, max_completion_tokens, pricing } = model;
  const fact = (title: string, value: Part) =>
    html`<div class="figure"><dt>${title}</dt><dd>${value}</dd></div>`;
  return html`<dl class="figures">
${fact('Context', `${numberOf(context_length)} tokens`)}
${fact('Longest completion', `${numberOf(max_completion_tokens)} tokens`)}
${money && fact('Prompt', perMillion(pricing.prompt))}
${money && pricing.input_cache_read !== undefined && fact('Cached prompt', perMillion(pricing.input_cache_read))}
${money && fact('Completion', perMillion(pricing.completion))}
${fact('Reasoning', reasoningOf(model))}
${fact('Tools', model.tool_calls ? 'yes' : 'no')}
</dl>`;
}

/** The model in the catalog as it is public; its prices only if `money` is set. */
export function catalogDetails(model: Model, money: boolean): Html {
  const { pricing, ...entry } = catalogEntry(model);
  const shown = money ? { ...entry, pricing } : entry;
  return html`<details><summary>As clients see it</summary><pre tabindex="0">${JSON.stringify(shown, undefined, 2)}</pre></details>`;
}

function reasoningOf({ reasoning, reasoning_effort: { levels, default: usual } }: Model): string {
  if (!reasoning) return 'no';
  return levels.length === 0
    ? 'yes'
    : levels.map(level => (level === usual ? `${level} (default)` : level)).join(', ');
}

/** Exact price of a million tokens, by moving the decimal point of the price of one. */
function perMillion(price: string): string {
  const [whole = '', fraction = ''] = price.split('.');
  const digits = fraction.padEnd(6, '0');
  const dollars = `${whole}${digits.slice(0, 6)}`.replace(/^0+(?=\d)/, '');
  const rest = digits.slice(6).replace(/0+$/, '');
  return `$${dollars}${rest && `.${rest}`} / million`;
}

const upstreamTable = (id: string, upstreams: readonly Upstream[], now_ms: number): Html =>
  tableOf(
    `Upstreams of ${id}`,
    [
      { title: 'Upstream', cell: ({ provider }) => provider.name, isName: true },
      { title: 'Model there', cell: ({ target }) => target.model, isName: true },
      { title: 'Priority', cell: upstream => upstream.priority, isNumber: true },
      { title: 'Weight', cell: upstream => upstream.weight, isNumber: true },
      { title: 'State', cell: upstream => stateMark(upstreamState(upstream, now_ms)) },
    ],
    upstreams,
  );

/** The provider's state, or the upstream's own if only this model is paused there. */
function upstreamState(upstream: Upstream, now_ms: number): State {
  const state = providerState(upstream.provider);
  const usable_in_ms = upstream.usable_in_ms(now_ms);
  if (state.tone === 'bad' || usable_in_ms <= upstream.provider.breaker.retry_in_ms) return state;
  return { label: `paused, retrying in ${durationOf(usable_in_ms)}`, tone: 'warn' };
}
