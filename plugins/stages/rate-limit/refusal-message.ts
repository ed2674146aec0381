import { type Limit, unitOf, windowOf } from '../../../src/plugin.ts';

/** Message for the client: which limit was exceeded, and when to retry. */
export function refusalMessage(limit: Limit, retry_ms: number, now_epoch_ms: number): string {
  const of = `${limit.model === undefined ? '' : ` for ${limit.model}`}${limit.key === undefined ? '' : ' for this API key'}`;
  const { noun } = unitOf(limit);
  const window = windowOf(limit);
  switch (window.kind) {
    case 'sliding':
      return `Rate limit exceeded: ${counted(limit.max, noun)} per ${window.noun}${of}. ${retryIn(retry_ms)}`;
    case 'running':
      return `Rate limit exceeded: ${counted(limit.max, noun)}${of}. Retry when one has ended.`;
    case 'calendar': {
      const day = window.resets_on_day ? ` on ${dayOf(now_epoch_ms + retry_ms)}` : '';
      return `${window.adjective} ${noun} limit exceeded${of}. Resets${day} at 00:00 UTC.`;
    }
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const retryIn = (ms: number): string => `Retry in ${counted(Math.max(1, Math.ceil(ms / 1000)), 'second')}.`;

/** UTC day of a minute later: a timer may be some milliseconds early, before the day that is meant. */
const dayOf = (epoch_ms: number): string => new Date(epoch_ms + 60_000).toISOString().slice(0, 10);
