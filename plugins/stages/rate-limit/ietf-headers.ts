import type { LimitName, LimitStatus } from '../../../src/plugin.ts';

/** Name, quota unit and window in seconds of a policy. Money has no unit there, and is nobody's business but the account's. */
const policies: Partial<Record<LimitName, readonly [name: string, unit: string, window: string]>> = {
  requests_per_minute: ['rpm', '', ';w=60'],
  tokens_per_minute: ['tpm', ';qu="tokens"', ';w=60'],
  tokens_per_day: ['tpd', ';qu="tokens"', ';w=86400'],
  concurrent_requests: ['concurrency', ';qu="concurrent-requests"', ''],
};

/**
 * `RateLimit-Policy` and `RateLimit` as the IETF's draft (draft-ietf-httpapi-ratelimit-headers-10) has them: all limits, each with a name
 * that ends in `-model` if it is on the request's model alone.
 */
export function addIetfHeaders(headers: Record<string, string>, statuses: readonly LimitStatus[]): void {
  const told = statuses.flatMap(({ limit, remaining, reset_ms }) => {
    const policy = policies[limit.name];
    if (!policy) return [];
    const [name, unit, window] = policy;
    const quoted = `"${name}${limit.model === undefined ? '' : '-model'}"`;
    const time = reset_ms > 0 ? `;t=${Math.ceil(reset_ms / 1000)}` : '';
    return [{ policy: `${quoted};q=${limit.max}${unit}${window}`, state: `${quoted};r=${remaining}${time}` }];
  });
  if (told.length === 0) return;
  headers['ratelimit-policy'] = told.map(({ policy }) => policy).join(', ');
  headers.ratelimit = told.map(({ state }) => state).join(', ');
}
