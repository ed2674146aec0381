import type { Limit, LimitName, LimitStatus } from '../../../src/plugin.ts';

type Headers = Record<string, string>;

/** What `x-ratelimit-…-requests` and `x-ratelimit-…-tokens` tell of. */
const kindOf: Partial<Record<LimitName, 'requests' | 'tokens'>> = {
  requests_per_minute: 'requests',
  tokens_per_minute: 'tokens',
  tokens_per_day: 'tokens',
};

/**
 * Adds `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` (protocol i1). Where several limits count the same unit, by minute and day or
 * of all models and of one, the one that refused gives all three values, or else the one with the least remaining share (n16).
 */
export function addRateHeaders(headers: Headers, statuses: readonly LimitStatus[], refused_by?: Limit): void {
  let requests: LimitStatus | undefined;
  let tokens: LimitStatus | undefined;
  for (const status of statuses) {
    const kind = kindOf[status.limit.name];
    if (kind === 'requests') requests = tighter(requests, status, refused_by);
    else if (kind === 'tokens') tokens = tighter(tokens, status, refused_by);
  }
  if (requests) {
    headers['x-ratelimit-limit-requests'] = String(requests.limit.max);
    headers['x-ratelimit-remaining-requests'] = String(requests.remaining);
    headers['x-ratelimit-reset-requests'] = duration(requests.reset_ms);
  }
  if (tokens) {
    headers['x-ratelimit-limit-tokens'] = String(tokens.limit.max);
    headers['x-ratelimit-remaining-tokens'] = String(tokens.remaining);
    headers['x-ratelimit-reset-tokens'] = duration(tokens.reset_ms);
  }
}

function tighter(
  one: LimitStatus | undefined,
  other: LimitStatus,
  refused_by: Limit | undefined,
): LimitStatus {
  if (!one || other.limit === refused_by) return other;
  return one.limit === refused_by || shareLeft(one) <= shareLeft(other) ? one : other;
}

const shareLeft = ({ limit, remaining }: LimitStatus): number => remaining / limit.max;

/** As OpenAI writes durations: `250ms`, `1s`, `6m0s`, `23h59m1s`. Rounded up, so that nobody comes too early. */
export function duration(ms: number): string {
  if (ms <= 0) return '0s';
  if (ms <= 999) return `${Math.ceil(ms)}ms`;
  const all_s = Math.ceil(ms / 1000);
  const s = all_s % 60;
  const m = Math.floor(all_s / 60) % 60;
  const h = Math.floor(all_s / 3600);
  if (h > 0) return `${h}h${m}m${s}s`;
  return m > 0 ? `${m}m${s}s` : `${s}s`;
}

/** Above this a client had better not wait (protocol i3): SDKs would retry after seconds, and in vain. */
const max_wait_ms = 60_000;

/** When to come again, or that it is no use (protocol i2, i3). */
export function retryHeaders(retry_ms: number): Headers {
  const headers: Headers = { 'retry-after': String(Math.max(1, Math.ceil(retry_ms / 1000))) };
  if (retry_ms <= max_wait_ms) headers['retry-after-ms'] = String(retry_ms);
  else headers['x-should-retry'] = 'false';
  return headers;
}
