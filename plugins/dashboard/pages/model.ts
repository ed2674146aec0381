import { catalogEntry, type Model, providerStates } from '../../../src/plugin.ts';
import { attemptFigures } from '../attempt-figures.ts';
import { testColumns } from '../connection-tests.ts';
import { modelsInScope, servesChat } from '../models-in-scope.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError } from '../page-response.ts';
import { rangeAt, ranges, trafficQuestionOf } from '../traffic-range.ts';
import { configDetails } from '../view/config-table.ts';
import { linkOf, muted, numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { priceTable } from '../view/price-table.ts';
import { attemptColumns, providerMarks } from '../view/provider-table.ts';
import { rangeLinks } from '../view/range-links.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { names, numbers, tableOf } from '../view/table.ts';
import { clientLinks } from './models.ts';

/** One model: what it takes and costs, for operators with its providers side by side. */
export const modelPage: Page = {
  name: 'model',
  get: async request => {
    const { scope, query } = request;
    const id = query.get('id') ?? '';
    const model = (await modelsInScope(request)).find(one => one.id === id);
    if (!model) throw new PageError(404, `There is no model “${id}”.`, 'Look for it in the list of models.');
    const { money, internals } = scope.sees;
    return pageResponse(request, {
      title: model.id,
      section: 'models',
      beside: scope.account && servesChat(model) && html`<span>${clientLinks(model.id)}</span>`,
      body: html`${internals && (await providersPanel(request, model))}
${money && panel('prices', 'Prices', pricesOf(request, model))}
${panel('abilities', model.name, html`${model.description && html`<p>${model.description}</p>`}${facts(request, model)}`)}
${catalogDetails(model, money)}
${scope.sees.configuration && configured(request, model)}`,
    });
  },
};

/** The providers of a model side by side: how attempts at each went, and how they are set up. */
async function providersPanel(request: PageRequest, { id, upstreams }: Model): Promise<Html> {
  const { context, query } = request;
  const { since } = trafficQuestionOf(query);
  const [providers, sums] = await Promise.all([
    providerStates(context),
    context.records.store.traffic.attempts({ ...rangeAt(since, context.clock.epoch_ms()), upstreams }),
  ]);
  const now_ms = context.clock.elapsed_ms();
  const states = new Map(providers.map(provider => [provider.name, provider]));
  const live = context.upstreamsOf(id);
  const rows = upstreams.map((upstream, at) => ({
    ...upstream,
    live: live[at],
    state: states.get(upstream.provider),
    figures: attemptFigures(
      sums.filter(({ provider, model }) => provider === upstream.provider && model === upstream.model),
    ),
  }));
  type Row = (typeof rows)[number];
  const named = names<Row>(
    'Provider',
    ({ provider: name }) => html`<a href="${linkOf('provider', { name, since })}">${name}</a>`,
  );
  const table = tableOf<Row>(
    `Providers of ${id}`,
    [
      named,
      {
        title: 'State',
        cell: ({ state, live }) => state && providerMarks(state, live, now_ms),
      },
      ...attemptColumns<Row>(
        ({ figures }) => figures,
        ({ provider }) => linkOf('requests', { failed_at: provider, model: id, since }),
      ),
    ],
    rows,
  );
  const setUp = tableOf<Row>(
    `How providers of ${id} are set up`,
    [
      named,
      names('Model there', ({ model }) => model),
      numbers('Priority', ({ priority }) => priority),
      numbers('Weight', ({ live, weight }) => live?.control?.weight ?? weight),
      { title: 'Limits', cell: limitsText },
      ...testColumns<Row>(request, row => row),
    ],
    rows,
  );
  return html`<section class="panel" aria-labelledby="providers"><div class="head"><h2 id="providers">Providers, last ${ranges[since].title}</h2>${rangeLinks(request, since)}</div>${table}${setUp}</section>`;
}

/** What the contract with the provider allows. */
function limitsText({
  limits: { requests_per_minute, tokens_per_minute } = {},
}: Model['upstreams'][number]): Part {
  const texts = [
    requests_per_minute !== undefined && `${numberOf(requests_per_minute)} requests/min`,
    tokens_per_minute !== undefined && `${numberOf(tokens_per_minute)} tokens/min`,
  ];
  return texts.filter(Boolean).join(', ') || muted('none');
}

const pricesOf = ({ scope: { sees } }: PageRequest, { pricing, upstreams }: Model): Html =>
  priceTable(
    pricing,
    sees.margins
      ? upstreams.map(({ provider, paid_prices }) => ({ title: `Paid to ${provider}`, prices: paid_prices }))
      : [],
  );

/** What a model takes; for operators also what stands in for it and by which names it is asked for. */
function facts({ context, scope }: PageRequest, model: Model): Html {
  const { context_length, max_completion_tokens, architecture, operations, fallbacks = {}, defaults } = model;
  const fact = (title: string, value: Part) => html`<dt>${title}</dt><dd>${value}</dd>`;
  const byCause = Object.entries(fallbacks).map(([cause, models]) => `${cause}: ${models?.join(', ')}`);
  const other = scope.sees.internals ? aliasesOf(context.settings, model.id) : [];
  return html`<dl>
${fact('Context', `${numberOf(context_length)} tokens`)}
${fact('Longest completion', `${numberOf(max_completion_tokens)} tokens`)}
${fact('Takes and gives', architecture.modality)}
${operations && fact('Serves', operations.join(', '))}
${fact('Reasoning', reasoningOf(model))}
${fact('Tools', model.tool_calls ? 'yes' : 'no')}
${scope.sees.internals && defaults && fact('Defaults', html`<code>${JSON.stringify(defaults)}</code>`)}
${scope.sees.internals && model.extra_parameters.length > 0 && fact('Further parameters', model.extra_parameters.join(', '))}
${
  scope.sees.internals &&
  byCause.length > 0 &&
  fact(
    'Falls back',
    byCause.map(text => html`<div>${text}</div>`),
  )
}
${other.length > 0 && fact('Also called', other.join(', '))}
</dl>`;
}

/** Names that stand for a model, of all accounts. */
function aliasesOf({ stages }: PageRequest['context']['settings'], id: string): string[] {
  const options = stages.find(({ name }) => name === 'aliases')?.options as
    | { readonly names?: Readonly<Record<string, string>> }
    | undefined;
  return Object.entries(options?.names ?? {}).flatMap(([name, model]) => (model === id ? name : []));
}

function reasoningOf({ reasoning, reasoning_effort: { levels, default: usual } }: Model): string {
  if (!reasoning) return 'no';
  return levels.length === 0
    ? 'yes'
    : levels.map(level => (level === usual ? `${level} (default)` : level)).join(', ');
}

function configured({ context }: PageRequest, model: Model): Html {
  const { extra_parameters: _, has_paid_prices: __, ...value } = model;
  const path = ['models', context.catalog.models.indexOf(model)] as const;
  return configDetails(context, { path, value }, () => true);
}

/** The model in the catalog as it is public; its prices only if `money` is set. */
function catalogDetails(model: Model, money: boolean): Html {
  const { pricing, ...entry } = catalogEntry(model);
  const shown = money ? { ...entry, pricing } : entry;
  return html`<details class="panel"><summary>As clients see it</summary><pre tabindex="0">${JSON.stringify(shown, undefined, 2)}</pre></details>`;
}
