import type { Provider } from '../../upstream/http/provider.ts';
import type { DashboardContext } from '../page-request.ts';
import { durationOf, muted, numberOf } from './format.ts';
import { type Html, html } from './html.ts';
import { tableOf } from './table.ts';

/** The state of a provider or an upstream: a short label and its severity. */
export interface State {
  readonly label: string;
  readonly tone: 'good' | 'warn' | 'bad';
}

/** A provider's state: its health check first, then its circuit breaker, then its concurrency limit. */
export function providerState({ healthy, breaker, bulkhead }: Provider): State {
  if (!healthy) return { label: 'health check fails', tone: 'bad' };
  if (breaker.state === 'open')
    return { label: `paused, retrying in ${durationOf(breaker.retry_in_ms)}`, tone: 'bad' };
  if (breaker.state === 'half_open') return { label: 'testing recovery', tone: 'warn' };
  if (breaker.share < 1) return { label: 'recovering', tone: 'warn' };
  if (!bulkhead.hasPermit) return { label: 'at its concurrency limit', tone: 'warn' };
  return { label: 'Active', tone: 'good' };
}

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
      { title: 'Circuit breaker', cell: ({ breaker }) => breaker.state.replace('_', ' ') },
      { title: 'Health check', cell: healthOf },
      { title: 'In flight', cell: inFlightOf, isNumber: true },
      { title: 'Waiting', cell: ({ bulkhead }) => numberOf(bulkhead.queued), isNumber: true },
      { title: 'Models', cell: ({ name }) => numberOf(serves(name)), isNumber: true },
      { title: 'Adapter', cell: ({ name }) => adapters.get(name) },
      { title: 'Address', cell: ({ address }) => `${address.host}:${address.port}`, isName: true },
    ],
    providers,
  );
}

function healthOf({ config, healthy }: Provider): Html | string {
  if (config.health_check === undefined) return muted('none');
  return healthy ? 'good' : 'fails';
}

function inFlightOf({ bulkhead, config }: Provider): string {
  const { max_concurrent } = config;
  return `${numberOf(bulkhead.in_flight)}${max_concurrent === undefined ? '' : ` of ${numberOf(max_concurrent)}`}`;
}
