import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

const accounts = ['acme', 'o’neil & sons', '=cmd|calc'];
const models = ['aion-labs/aion-3.5', 'aion-labs/other', null, 'a/b', 'c/d', 'e/f'];
const providers = ['upstream', 'cloud', null];

/** Exchanges of half a year until February 2026, in sums of which floating point would lose some; every second one by a key. */
export function halfAYear(key_id: string | null = null): LedgerRow[] {
  return Array.from({ length: 400 }, (_, at) => ({
    ...sampleRow(),
    id: `row-${at}`,
    request_id: `request-${at}`,
    account: accounts[at % accounts.length]!,
    key_id: at % 2 === 0 ? key_id : null,
    model: models[at % models.length]!,
    provider: providers[(at % 4) % 3]!,
    started_ms: Date.UTC(2025, 8, 1) + at * 11 * 3_600_000,
    first_token_ms: null,
    status: at % 9 === 0 ? 502 : 200,
    error_type: at % 9 === 0 ? 'provider_error' : null,
    prompt_tokens: 1000 + at * 7,
    completion_tokens: 500 + at * 3,
    cached_tokens: at,
    reasoning_tokens: at * 2,
    estimated: at % 5 === 0,
    cost_usd: `0.${String(at * 1_000_003 + 1).padStart(12, '0')}`,
  }));
}
