import {
  type Limit,
  type LimitStatus,
  type LimitUnit,
  limitTable,
  limitUnits,
  neverResets,
  rowOf,
  unitOf,
  windowOf,
} from '../../../src/plugin.ts';

type Headers = Record<string, string>;

/** The units that have headers, with the names of these. */
const shownUnits = Object.entries<LimitUnit>(limitUnits).flatMap(([unit, { header }]) => {
  if (header === undefined) return [];
  const named = (what: string) => `x-ratelimit-${what}-${header}`;
  return { unit, limit: named('limit'), remaining: named('remaining'), reset: named('reset') };
});

/**
 * Adds `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`. Where several limits count the same unit, by minute and day, of
 * all models and of one, or of the account and of the key, the one that refused gives all three values, or else the one with the least
 * remaining share. The first `added` statuses have been added before.
 */
export function addRateHeaders(
  headers: Headers,
  statuses: readonly LimitStatus[],
  refused_by?: Limit,
  added = 0,
): void {
  for (let shown = 0; shown < shownUnits.length; shown++) {
    const names = shownUnits[shown]!;
    let tightest = -1;
    let least_share = Number.POSITIVE_INFINITY;
    for (let at = 0; at < statuses.length; at++) {
      const { limit, remaining } = statuses[at]!;
      const row = limitTable[limit.name];
      if (row.unit !== names.unit || limit.soft || row.window === 'total') continue;
      const share = limit === refused_by ? Number.NEGATIVE_INFINITY : remaining / limit.max;
      if (share >= least_share) continue;
      tightest = at;
      least_share = share;
    }
    if (tightest < added) continue;
    const { limit, remaining, reset_ms } = statuses[tightest]!;
    headers[names.limit] = String(limit.max);
    headers[names.remaining] = String(remaining);
    headers[names.reset] = duration(reset_ms);
  }
}

/** Duration in OpenAI's format: `250ms`, `1s`, `6m0s`, `23h59m1s`. Rounded up, so that no client retries too early. */
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

/** Wait above which clients must not retry by themselves: SDKs would retry after seconds, in vain. */
const max_wait_ms = 60_000;

/** Headers that say when to retry, or not to; `Infinity` is never. */
export function retryHeaders(retry_ms: number): Headers {
  if (retry_ms === Number.POSITIVE_INFINITY) return { 'x-should-retry': 'false' };
  const headers: Headers = { 'retry-after': String(Math.max(1, Math.ceil(retry_ms / 1000))) };
  if (retry_ms <= max_wait_ms) headers['retry-after-ms'] = String(retry_ms);
  else headers['x-should-retry'] = 'false';
  return headers;
}

/**
 * Adds `RateLimit-Policy` and `RateLimit` as in the IETF's draft (draft-ietf-httpapi-ratelimit-headers-10): all limits, with names that end
 * in `-model` for limits on the request's model alone, in `-key` for those of the key, and in `-parent` and `-team` for those of the root of the
 * account's tree and of what is between. The draft has no unit for money.
 */
export function addIetfHeaders(headers: Headers, statuses: readonly LimitStatus[]): void {
  const shown = statuses.filter(({ limit }) => rowOf(limit).ietf_name !== undefined && !limit.soft);
  if (shown.length === 0) return;
  headers['ratelimit-policy'] = shown.map(({ limit }) => policyOf(limit)).join(', ');
  headers.ratelimit = shown.map(stateOf).join(', ');
}

function nameOf(limit: Limit): string {
  const { model, key, inherited, member } = limit;
  const ofParent = inherited ? (member === undefined ? '-parent' : '-team') : '';
  return `"${rowOf(limit).ietf_name}${model === undefined ? '' : '-model'}${key === undefined ? '' : '-key'}${ofParent}"`;
}

function policyOf(limit: Limit): string {
  const { ietf_unit } = unitOf(limit);
  const { ietf_s } = windowOf(limit);
  const unit = ietf_unit === undefined ? '' : `;qu="${ietf_unit}"`;
  return `${nameOf(limit)};q=${limit.max}${unit}${ietf_s === undefined ? '' : `;w=${ietf_s}`}`;
}

function stateOf({ limit, remaining, reset_ms }: LimitStatus): string {
  const time = reset_ms > 0 && !neverResets(limit) ? `;t=${Math.ceil(reset_ms / 1000)}` : '';
  return `${nameOf(limit)};r=${remaining}${time}`;
}
