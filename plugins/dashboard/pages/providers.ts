import { type ProviderState, providerStates } from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { switchForm } from '../provider-switch.ts';
import { rangeAt, trafficQuestionOf } from '../traffic-range.ts';
import { endsSoon } from '../view/control-fields.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { recordList } from '../view/list.ts';
import { noProviders, providerColumns } from '../view/provider-table.ts';
import { rangeLinks } from '../view/range-links.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { type Column, numbers } from '../view/table.ts';

/** All providers: how attempts there go, and what takes one out of service at once. */
export const providersPage: Page = {
  name: 'providers',
  get: async request => {
    const { context, query, scope } = request;
    const { since } = trafficQuestionOf(query);
    const [providers, sums] = await Promise.all([
      providerStates(context),
      context.records.store.traffic.attempts(rangeAt(since, context.clock.epoch_ms())),
    ]);
    const attempts = { since, sums };
    const service = scope.may.change ? [actionsColumn(request)] : [];
    const columns = [...providerColumns(attempts, service), weightColumn(request)];
    const label = 'Providers and their states';
    return pageResponse(request, {
      title: 'Providers',
      section: 'providers',
      beside: rangeLinks(request, since),
      body: html`${inMemoryNotice(request)}<section class="panel" aria-label="Providers">${recordList(request, { label, columns, rows: providers, empty: noProviders })}</section>
<p class="muted">Attempts of all instances; states and what is in flight are those of this one. Attempts with requests that clients got wrong, and over stale connections, are in no share.</p>`,
    });
  },
};

/** What operators have set, or the weights of the configuration. */
const weightColumn = ({ context: { catalog } }: PageRequest): Column<ProviderState> => {
  const upstreams = catalog.models.flatMap(model => model.upstreams);
  return numbers('Weight', ({ name, control }) => {
    const own = upstreams.filter(({ provider }) => provider === name).map(({ weight }) => weight);
    return control?.weight ?? [...new Set(own)].join(', ');
  });
};

const actionsColumn = (request: PageRequest): Column<ProviderState> => ({
  title: 'Service',
  cell: provider => buttons(request, provider),
});

/** One click takes a provider out of service for an hour, or back. */
function buttons(request: PageRequest, provider: ProviderState): Html {
  const { name, control } = provider;
  const button = (change: string, title: string, label: string) =>
    html`<button class="small" name="change" value="${change}" aria-label="${label}" title="${label}">${title}</button>`;
  const { label, value } = endsSoon;
  return switchForm(
    request,
    provider,
    html`<input type="hidden" name="back" value="${linkOf('providers', Object.fromEntries(request.query))}">
${
  control
    ? button('resume', 'Resume', `Resume ${name} as configured`)
    : html`<input type="hidden" name="end" value="${value}"><input type="hidden" name="reason" value="from the list of providers">
<span class="nowrap">${button('drain', 'Drain', `Drain ${name} ${label}`)} ${button('pause', 'Pause', `Pause ${name} ${label}`)}</span>`
}`,
  );
}
