import { type ProviderState, providerStates } from '../../../src/plugin.ts';
import { attemptFigures } from '../attempt-figures.ts';
import { testColumns } from '../connection-tests.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { type NotSwitched, switchForm, switchProvider } from '../provider-switch.ts';
import { rangeAt, ranges, trafficQuestionOf } from '../traffic-range.ts';
import { historyPanel } from '../view/audit-table.ts';
import { configDetails } from '../view/config-table.ts';
import { controlFields } from '../view/control-fields.ts';
import { linkOf, muted, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { attemptColumns, inFlightOf, providerMarks } from '../view/provider-table.ts';
import { rangeLinks } from '../view/range-links.ts';
import { inMemoryNotice, pageResponse, panel } from '../view/shell.ts';
import { emptyState, names, tableOf } from '../view/table.ts';

/** One provider: how attempts there go, what operators have set of it, and the forms that set it. */
export const providerPage: Page = {
  name: 'provider',
  get: async request => shown(request, await providerOf(request)),
  post: async request => {
    const provider = await providerOf(request);
    return switchProvider(request, provider, why => shown(request, provider, why));
  },
};

async function providerOf({ context, query }: PageRequest): Promise<ProviderState> {
  const name = query.get('name') ?? '';
  const found = (await providerStates(context)).find(provider => provider.name === name);
  if (found) return found;
  throw new PageError(404, `There is no provider “${name}”.`, 'Look for it in the list of providers.');
}

async function shown(
  request: PageRequest,
  provider: ProviderState,
  { question, ...refused }: NotSwitched = {},
): Promise<PageResponse> {
  const { name, control } = provider;
  const mayChange = request.scope.may.change;
  return pageResponse(request, {
    title: name,
    section: 'providers',
    ...refused,
    body: html`${inMemoryNotice(request)}${question}
${panel('service', 'Service', html`${facts(provider)}${mayChange && control && switchForm(request, provider, html`<button name="change" value="resume">Resume as configured</button>`, 'row')}`)}
${await attemptsPanel(request, name)}
${mayChange && panel('change', 'Take it out of service', html`${explained}${switchForm(request, provider, controlFields(request.form), 'stack')}`)}
${await historyPanel(request, 'provider', name)}
${request.scope.sees.configuration && configured(request, provider)}`,
  });
}

const explained = html`<p><strong>Pause</strong>: no attempt begins there; those that run go on. <strong>Drain</strong>: no request begins there; those that run go on, also with further attempts, and with sticky routing conversations. <strong>Weight</strong>: in place of the weights of its upstreams, of all models. What is set replaces what was set before.</p>
<p class="muted">Every instance follows within a second. At the end it is as configured again.</p>`;

function facts(provider: ProviderState): Html {
  const { control, address, adapter, breaker } = provider;
  return html`<dl>
<dt>State</dt><dd>${providerMarks(provider)}</dd>
${control && html`<dt>Set by</dt><dd>${control.actor}, ${timeOf(control.at_ms)}</dd>`}
<dt>Circuit breaker</dt><dd>${breaker.state.replace('_', ' ')}</dd>
<dt>In flight</dt><dd>${inFlightOf(provider)}</dd>
<dt>Adapter</dt><dd>${adapter}</dd>
<dt>Address</dt><dd>${address.host}:${address.port}</dd>
</dl>`;
}

/** Options whose texts are no secrets. */
const shown_options = [
  'adapter',
  'base_url',
  'api_key_file',
  'extra_parameters',
  'drop_parameters',
  'send_reasoning',
  'health_check',
];

function configured({ context }: PageRequest, { name, adapter, config }: ProviderState): Html {
  const { origin, pathname } = new URL(config.base_url);
  const value = { adapter, ...config, base_url: `${origin}${pathname}` };
  return configDetails(context, { path: ['providers', name], value }, ([option]) =>
    shown_options.includes(String(option)),
  );
}

/** Attempts at each model of a provider, and why they failed. */
async function attemptsPanel(request: PageRequest, name: string): Promise<Html> {
  const { context, query } = request;
  const { since } = trafficQuestionOf(query);
  const range = rangeAt(since, context.clock.epoch_ms());
  const sums = await context.records.store.traffic.attempts({ ...range, provider: name });
  const served = context.catalog.models.flatMap(({ id, upstreams }) =>
    upstreams.filter(({ provider }) => provider === name).map(({ model }) => ({ id, model })),
  );
  const rows = [...new Set([...served, ...sums].map(({ model }) => model))].map(model => ({
    model,
    ids: served.filter(one => one.model === model).map(({ id }) => id),
    figures: attemptFigures(sums.filter(one => one.model === model)),
  }));
  const requestsLink = (ids: readonly string[]) =>
    linkOf('requests', { failed_at: name, since, ...(ids.length === 1 && { model: ids[0] }) });
  const table = tableOf<(typeof rows)[number]>(
    'Attempts by model',
    [
      names('Model there', ({ model }) => model || muted('passed through')),
      names('Model', ({ ids }) =>
        ids.map(id => html`<a href="${linkOf('model', { id, since })}">${id}</a> `),
      ),
      ...attemptColumns<(typeof rows)[number]>(
        ({ figures }) => figures,
        ({ ids }) => requestsLink(ids),
      ),
      ...testColumns<(typeof rows)[number]>(request, ({ model }) => ({ provider: name, model })),
    ],
    rows,
    emptyState(
      'No model is served by this provider.',
      html`Name it under <code>upstreams</code> of a model.`,
    ),
  );
  return html`<section class="panel" aria-labelledby="attempts"><div class="head"><h2 id="attempts">Attempts, last ${ranges[since].title}</h2>${rangeLinks(request, since)}</div>${table}</section>`;
}
