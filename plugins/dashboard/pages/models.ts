import {
  catalogEntry,
  type ExtensionContext,
  type ListedProvider,
  type Model,
  providerStates,
  type Upstream,
} from '../../../src/plugin.ts';
import { modelsInScope, servesChat } from '../models-in-scope.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { Scope } from '../scope.ts';
import { durationOf, linkOf, muted, numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { providerState, providerTable, type State, stateMark } from '../view/provider-table.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { emptyState, names, numbers, tableOf } from '../view/table.ts';

/** The models that the reader may use, for operators with the providers and upstreams behind them and their states. */
export const modelsPage: Page = {
  name: 'models',
  get: async request => {
    const { context, scope } = request;
    const models = await modelsInScope(request);
    const { internals } = scope.sees;
    return pageResponse(request, {
      title: internals ? 'Models and providers' : 'Models',
      section: 'models',
      beside: muted(internals ? 'States are those of this instance.' : 'Prices in US dollars.'),
      body: html`${internals && panel('providers', 'Providers', await providers(context))}
${models.length === 0 ? noModels(scope) : models.map((model, at) => modelPanel(request, model, at))}`,
    });
  },
};

const providers = async (context: ExtensionContext): Promise<Html> =>
  context.providers.length === 0
    ? emptyState('There are no providers.', html`Name one under <code>providers</code> in the configuration.`)
    : providerTable(context, await providerStates(context));

/** Says that there is none, also where one is asked for. */
export const noModels = ({ account }: Scope): Html =>
  html`<section class="panel" aria-label="Models">${
    account
      ? emptyState('There is no model that your account may use.', 'Ask those who run this service.')
      : emptyState(
          'The catalog has no models.',
          html`List them under <code>models</code> in the configuration.`,
        )
  }</section>`;

function modelPanel({ context, scope }: PageRequest, model: Model, at: number): Html {
  const { id, name, description } = model;
  const { money, internals } = scope.sees;
  return html`<section class="panel" aria-labelledby="model-${at}"><h2 id="model-${at}"><code>${id}</code></h2>
<p>${name}${description && html` <span class="muted">${description}</span>`}</p>
${facts(model, money)}
${internals && upstreamTable(context, id)}
${scope.account && servesChat(model) && clientLinks(id)}
${catalogDetails(model, money)}
</section>`;
}

const clientLinks = (model: string): Html =>
  html`<p class="pager"><a class="button" href="${linkOf('examples', { model })}" aria-label="Examples of code with ${model}">Examples</a>
<a class="button" href="${linkOf('playground', { model })}" aria-label="${model} in the playground">Playground</a></p>`;

/** Abilities of a model, and its prices if `money` is set. */
function facts(model: Model, money: boolean): Html {
  const { context_length, max_completion_tokens, pricing } = model;
  const fact = (title: string, value: Part) =>
    html`<div class="figure"><dt>${title}</dt><dd>${value}</dd></div>`;
  return html`<dl class="figures">
${fact('Context', `${numberOf(context_length)} tokens`)}
${fact('Longest completion', `${numberOf(max_completion_tokens)} tokens`)}
${money && fact('Prompt', perMillion(pricing.prompt))}
${money && pricing.input_cache_read !== undefined && fact('Cached prompt', perMillion(pricing.input_cache_read))}
${money && fact('Completion', perMillion(pricing.completion))}
${money && pricing.request !== undefined && fact('Call', dollarsOf(pricing.request))}
${model.operations && fact('Serves', model.operations.join(', '))}
${fact('Reasoning', reasoningOf(model))}
${fact('Tools', model.tool_calls ? 'yes' : 'no')}
</dl>`;
}

/** The model in the catalog as it is public; its prices only if `money` is set. */
function catalogDetails(model: Model, money: boolean): Html {
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

const dollarsOf = (price: string): string => `$${price}`;

/** Exact price of a million tokens, by moving the decimal point of the price of one. */
function perMillion(price: string): string {
  const [whole = '', fraction = ''] = price.split('.');
  const digits = fraction.padEnd(6, '0');
  const dollars = `${whole}${digits.slice(0, 6)}`.replace(/^0+(?=\d)/, '');
  const rest = digits.slice(6).replace(/0+$/, '');
  return `$${dollars}${rest && `.${rest}`} / million`;
}

function upstreamTable(context: ExtensionContext, id: string): Html {
  const controls = new Map(context.providers.map(({ name, control }) => [name, control]));
  const stateOf = (upstream: Upstream) =>
    upstreamState(upstream, controls.get(upstream.provider.name), context.clock.elapsed_ms());
  return tableOf<Upstream>(
    `Upstreams of ${id}`,
    [
      names('Upstream', ({ provider }) => provider.name),
      names('Model there', ({ target }) => target.model),
      numbers('Priority', upstream => upstream.priority),
      numbers('Weight', ({ control, weight }) => control?.weight ?? weight),
      { title: 'State', cell: upstream => stateMark(stateOf(upstream)) },
    ],
    context.upstreamsOf(id),
  );
}

/** The provider's state, or the upstream's own if only this model is paused there. */
function upstreamState(upstream: Upstream, control: ListedProvider['control'], now_ms: number): State {
  const { name, healthy, breaker, bulkhead } = upstream.provider;
  const state = providerState({ name, healthy, breaker, bulkhead, control });
  if (control && control.state !== 'active') return state;
  const usable_in_ms = upstream.usable_in_ms(now_ms);
  if (state.tone === 'bad' || usable_in_ms <= upstream.provider.breaker.retry_in_ms) return state;
  return { label: `paused, retrying in ${durationOf(usable_in_ms)}`, tone: 'warn' };
}
