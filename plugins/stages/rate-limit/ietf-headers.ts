import { type Limit, type LimitStatus, rowOf, unitOf, windowOf } from '../../../src/plugin.ts';

/**
 * Adds `RateLimit-Policy` and `RateLimit` as in the IETF's draft (draft-ietf-httpapi-ratelimit-headers-10): all limits, with names that end
 * in `-model` for limits on the request's model alone. The draft has no unit for money.
 */
export function addIetfHeaders(headers: Record<string, string>, statuses: readonly LimitStatus[]): void {
  const shown = statuses.filter(({ limit }) => rowOf(limit).ietf_name !== undefined);
  if (shown.length === 0) return;
  headers['ratelimit-policy'] = shown.map(({ limit }) => policyOf(limit)).join(', ');
  headers.ratelimit = shown.map(stateOf).join(', ');
}

const nameOf = (limit: Limit): string =>
  `"${rowOf(limit).ietf_name}${limit.model === undefined ? '' : '-model'}"`;

function policyOf(limit: Limit): string {
  const { ietf_unit } = unitOf(limit);
  const { ietf_s } = windowOf(limit);
  const unit = ietf_unit === undefined ? '' : `;qu="${ietf_unit}"`;
  return `${nameOf(limit)};q=${limit.max}${unit}${ietf_s === undefined ? '' : `;w=${ietf_s}`}`;
}

function stateOf({ limit, remaining, reset_ms }: LimitStatus): string {
  const time = reset_ms > 0 ? `;t=${Math.ceil(reset_ms / 1000)}` : '';
  return `${nameOf(limit)};r=${remaining}${time}`;
}
