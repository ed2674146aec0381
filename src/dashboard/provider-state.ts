import type { Provider } from '../upstream/http/provider.ts';
import { durationOf } from './view/format.ts';

/** How something is that requests are sent to, in a word or two, and how bad that is. */
export interface State {
  readonly words: string;
  readonly tone: 'good' | 'warn' | 'bad';
}

/** How a provider is: its health check first, then its breaker, then whether it has a place. */
export function providerState({ healthy, breaker, bulkhead }: Provider): State {
  if (!healthy) return { words: 'health check fails', tone: 'bad' };
  if (breaker.state === 'open')
    return { words: `left alone for ${durationOf(breaker.retry_in_ms)}`, tone: 'bad' };
  if (breaker.state === 'half_open') return { words: 'being tried', tone: 'warn' };
  if (breaker.share < 1) return { words: 'recovering', tone: 'warn' };
  if (!bulkhead.hasPermit) return { words: 'all places taken', tone: 'warn' };
  return { words: 'ready', tone: 'good' };
}
