import { type Model, providerStates, type Upstream } from '../../../src/plugin.ts';
import { modelsInScope, servesChat } from '../models-in-scope.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { Scope } from '../scope.ts';
import { linkOf, muted, numberOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { recordList } from '../view/list.ts';
import { perMillion } from '../view/price-table.ts';
import { providerMarks } from '../view/provider-table.ts';
import { pageResponse } from '../view/shell.ts';
import { type Column, emptyState, names, numbers } from '../view/table.ts';

/** The models that the reader may use, for operators with the providers behind them. */
export const modelsPage: Page = {
  name: 'models',
  get: async request => {
    const { sees } = request.scope;
    const models = await modelsInScope(request);
    const columns: readonly Column<Model>[] = [
      names('Model', ({ id }) => html`<a href="${linkOf('model', { id })}"><code>${id}</code></a>`, {
        key: 'id',
        by: ({ id }) => id,
      }),
      names('Name', ({ name }) => name),
      numbers('Context', ({ context_length }) => numberOf(context_length), {
        key: 'context',
        by: ({ context_length }) => context_length,
      }),
      ...(sees.money ? prices : []),
      ...(sees.internals ? [await servedBy(request)] : [ways]),
    ];
    return pageResponse(request, {
      title: 'Models',
      section: 'models',
      beside: sees.money && muted('US dollars for a million tokens.'),
      body:
        models.length === 0
          ? noModels(request.scope)
          : html`<section class="panel" aria-label="Catalog">${recordList(request, { label: 'Models', columns, rows: models })}</section>`,
    });
  },
};

const prices: readonly Column<Model>[] = [
  numbers('Prompt', ({ pricing }) => perMillion(pricing.prompt), {
    key: 'prompt',
    by: ({ pricing }) => Number(pricing.prompt),
  }),
  numbers('Completion', ({ pricing }) => perMillion(pricing.completion), {
    key: 'completion',
    by: ({ pricing }) => Number(pricing.completion),
  }),
];

/** The providers of a model with their states, of which the page of the model has the figures side by side. */
async function servedBy({ context }: PageRequest): Promise<Column<Model>> {
  const states = new Map((await providerStates(context)).map(provider => [provider.name, provider]));
  const now_ms = context.clock.elapsed_ms();
  const one = (upstream: Upstream) => {
    const { name } = upstream.provider;
    const provider = states.get(name);
    return html`<div><a href="${linkOf('provider', { name })}">${name}</a> ${provider && providerMarks(provider, upstream, now_ms)}</div>`;
  };
  return { title: 'Providers', cell: ({ id }) => context.upstreamsOf(id).map(one) };
}

const ways: Column<Model> = {
  title: 'Try it',
  cell: model => servesChat(model) && clientLinks(model.id),
};

/** Where customers go on from a model. */
export const clientLinks = (model: string): Html =>
  html`<a href="${linkOf('examples', { model })}" aria-label="Examples of code with ${model}">Examples</a> · <a href="${linkOf('playground', { model })}" aria-label="${model} in the playground">Playground</a>`;

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
