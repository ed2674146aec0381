import { timeOrderedUuid } from '../../../../../src/common/ids.ts';
import type { LedgerRow } from '../../../../../src/gateway/settlement/ledger-entry.ts';

/** A row of an exchange with 10 + 5 tokens, with an id of its own, which was made at its start if that is given, or now. */
export function sampleRow(more: Partial<LedgerRow> = {}): LedgerRow {
  return {
    id: timeOrderedUuid(more.started_ms ?? Date.now()),
    request_id: 'req_1',
    account: 'acme',
    key_id: null,
    model: 'v/one',
    provider: 'local',
    endpoint: 'chat.completions',
    stream: true,
    trace_id: null,
    started_ms: Date.parse('2026-11-20T12:00:00Z'),
    duration_ms: 1200,
    first_token_ms: 200,
    status: 200,
    error_type: null,
    requested_model: null,
    error_message: null,
    error_param: null,
    code: null,
    refused_by: null,
    end_reason: 'completed',
    attempts: 1,
    prompt_tokens: 10,
    completion_tokens: 5,
    cached_tokens: 2,
    cache_creation_tokens: 0,
    reasoning_tokens: 1,
    estimated: false,
    cost_usd: '0.000000000001',
    paid_usd: null,
    attempts_made: [
      {
        provider: 'local',
        model: 'one',
        offset_ms: 3,
        wait_ms: 0,
        first_token_ms: 150,
        duration_ms: 1190,
        status: 200,
        outcome: 'completed',
        kind: null,
        error_message: null,
      },
    ],
    stages: [
      { stage: 'auth', hook: 'onHeaders', offset_ms: 0.12, own_ms: 0.05 },
      { stage: 'rate-limit', hook: 'onRequest', offset_ms: 1.5, own_ms: 0.4 },
    ],
    ...more,
  };
}

export const sampleRows = (count: number, more: Partial<LedgerRow> = {}): LedgerRow[] =>
  Array.from({ length: count }, () => sampleRow(more));
