import type { Limit } from '../../../src/plugin.ts';

/** What the client is told: which limit it was, and when there is room again. */
export function refusalMessage({ name, model, max }: Limit, retry_ms: number, now_epoch_ms: number): string {
  const of = model === undefined ? '' : ` for ${model}`;
  switch (name) {
    case 'requests_per_minute':
      return `Rate limit exceeded: ${counted(max, 'request')} per minute${of}. ${retryIn(retry_ms)}`;
    case 'tokens_per_minute':
      return `Rate limit exceeded: ${counted(max, 'token')} per minute${of}. ${retryIn(retry_ms)}`;
    case 'concurrent_requests':
      return `Rate limit exceeded: ${counted(max, 'concurrent request')}${of}. Retry when one has ended.`;
    case 'tokens_per_day':
      return `Daily token limit exceeded${of}. Resets at 00:00 UTC.`;
    case 'usd_per_month':
      return `Monthly spending limit exceeded${of}. Resets on ${dayOf(now_epoch_ms + retry_ms)} at 00:00 UTC.`;
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const retryIn = (ms: number): string => `Retry in ${counted(Math.max(1, Math.ceil(ms / 1000)), 'second')}.`;

/** A timer may be some milliseconds early; the day after it has begun is meant. */
const dayOf = (epoch_ms: number): string => new Date(epoch_ms + 60_000).toISOString().slice(0, 10);
