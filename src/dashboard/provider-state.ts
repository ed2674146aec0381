import type { Provider } from '../upstream/http/provider.ts';
import { durationOf } from './view/format.ts';

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
