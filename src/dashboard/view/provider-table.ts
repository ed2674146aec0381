import type { DashboardContext } from '../dashboard-context.ts';
import { providerState, type State } from '../provider-state.ts';
import { numberOf } from './format.ts';
import { type Html, html } from './html.ts';
import { tableOf } from './table.ts';

const breakers = { closed: 'closed', open: 'open', half_open: 'half open' } as const;

/** A state's label in its colour. */
export const stateMark = ({ label, tone }: State): Html => html`<span class="state ${tone}">${label}</span>`;

/** Every provider and its state at this instance. */
export function providerTable({ providers, settings, catalog }: DashboardContext): Html {
  const adapters = new Map(settings.providers.map(({ name, definition }) => [name, definition.name]));
  const serves = (name: string): number =>
    catalog.models.filter(({ upstreams }) => upstreams.some(({ provider }) => provider === name)).length;
  return tableOf(
    'Providers and their states',
    [
      { title: 'Provider', cell: ({ name }) => name, isName: true },
      { title: 'State', cell: provider => stateMark(providerState(provider)) },
      { title: 'Circuit breaker', cell: ({ breaker }) => breakers[breaker.state] },
      {
        title: 'Health check',
        cell: ({ config, healthy }) =>
          config.health_check === undefined
            ? html`<span class="muted">none</span>`
            : healthy
              ? 'good'
              : 'fails',
      },
      {
        title: 'In flight',
        cell: ({ bulkhead, config }) =>
          html`${numberOf(bulkhead.in_flight)}${config.max_concurrent !== undefined && ` of ${numberOf(config.max_concurrent)}`}`,
        isNumber: true,
      },
      { title: 'Waiting', cell: ({ bulkhead }) => numberOf(bulkhead.queued), isNumber: true },
      { title: 'Models', cell: ({ name }) => numberOf(serves(name)), isNumber: true },
      { title: 'Adapter', cell: ({ name }) => adapters.get(name) },
      { title: 'Address', cell: ({ address }) => `${address.host}:${address.port}`, isName: true },
    ],
    providers,
  );
}
