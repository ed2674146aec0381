import { timeOrderedUuid } from '../../common/ids.ts';
import type { Account } from '../accounts/accounts.ts';
import type { AttemptRecord } from '../exchange/attempt-record.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Outcome, RunningUsage } from '../exchange/exchange-view.ts';
import type { LedgerRow } from './ledger-entry.ts';

/** Ledger row of a settled exchange of `account`. Call once: it creates the row id. */
export function ledgerRowOf({ clock }: Exchange, account: Account, outcome: Outcome): LedgerRow {
  const { usage, timings } = outcome;
  return {
    // Not the request id: clients choose it, and may reuse one.
    id: timeOrderedUuid(clock.epoch_ms()),
    request_id: outcome.id,
    account: account.id,
    key_id: account.key_id ?? null,
    model: outcome.model ?? null,
    requested_model: outcome.requested_model ?? null,
    provider: outcome.provider ?? null,
    endpoint: outcome.endpoint,
    stream: outcome.stream ?? null,
    trace_id: outcome.trace_id ?? null,
    started_ms: Math.round(timings.started_epoch_ms),
    duration_ms: Math.round(timings.duration_ms),
    first_token_ms: wholeMs(timings.first_token_ms) ?? null,
    status: outcome.status,
    error_type: outcome.error_type ?? null,
    code: outcome.code ?? null,
    error_message: outcome.error_message ?? null,
    error_param: outcome.error_param ?? null,
    end_reason: outcome.end_reason,
    refused_by: outcome.limit ?? null,
    attempts: outcome.attempts.length,
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    cached_tokens: usage.cached_tokens,
    cache_creation_tokens: usage.cache_creation_tokens ?? 0,
    reasoning_tokens: usage.completion_details?.reasoning_tokens ?? 0,
    estimated: isEstimated(usage),
    cost_usd: outcome.cost_usd,
    paid_usd: outcome.paid_usd ?? null,
    attempts_made: outcome.attempts.map(attemptRowOf),
    stages: outcome.stages,
  };
}

function attemptRowOf(attempt: AttemptRecord): LedgerRow['attempts_made'][number] {
  const { provider, model, status, kind, outcome, error_message } = attempt;
  return {
    provider: provider ?? null,
    model: model ?? null,
    offset_ms: Math.round(attempt.offset_ms),
    wait_ms: Math.round(attempt.wait_ms),
    first_token_ms: wholeMs(attempt.first_token_ms) ?? null,
    duration_ms: wholeMs(attempt.duration_ms) ?? null,
    status: status ?? null,
    outcome: outcome ?? null,
    kind: kind ?? null,
    error_message: error_message ?? null,
  };
}

/** `ms` without fractions, if known. */
export const wholeMs = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.round(ms);

/** Whether any of the usage was estimated. Usage of zero was not. */
export const isEstimated = ({ estimated, prompt_tokens, completion_tokens }: RunningUsage): boolean =>
  estimated && prompt_tokens + completion_tokens > 0;
