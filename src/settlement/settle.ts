import type { Outcome } from '../exchange/exchange-view.ts';
import type { Exchange } from '../exchange.ts';
import type { Ledger } from '../stores/ledger/ledger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { endSpan } from '../telemetry/tracing.ts';
import { costOf } from './cost.ts';
import { isEstimated, ledgerRowOf } from './ledger-row.ts';

/**
 * Settles an exchange: reports its usage and end to metrics, ledger, span and log. Called exactly once, from the `finally` that every
 * exchange passes through.
 */
export function settle(exchange: Exchange, metrics: Metrics, ledger?: Pick<Ledger, 'record'>): Outcome {
  const outcome = outcomeOf(exchange);
  metrics.settled(exchange, outcome);
  const row = ledger && ledgerRowOf(exchange, outcome);
  if (row) ledger.record(row);
  const { received_ms, replied_ms } = exchange;
  if (received_ms !== undefined && replied_ms !== undefined) {
    metrics.overhead(exchange, Math.max(0, replied_ms - received_ms - exchange.upstream_wait_ms));
  }
  endServerSpan(exchange, outcome);
  logLine(exchange, outcome);
  return outcome;
}

/** Ends the exchange's span with its outcome. */
export function endServerSpan({ span }: Exchange, outcome: Outcome): void {
  if (span.isRecording()) {
    span.setAttributes({
      'http.response.status_code': outcome.status,
      'sluice.end_reason': outcome.end_reason,
      'sluice.attempts': outcome.attempts,
      'sluice.model': outcome.model,
      'sluice.account': outcome.account,
    });
  }
  endSpan(span, outcome.error_type);
}

/** Outcome of an exchange so far; its record, once it has ended. Throws only for a price that cannot be computed, if none is given. */
export function outcomeOf(exchange: Exchange, cost_usd: string = priceOf(exchange)): Outcome {
  const { account, model, usage, first_token_ms, started_ms, end } = exchange;
  return {
    id: exchange.id,
    endpoint: exchange.endpoint.name,
    account: account?.id,
    model: model?.id,
    end_reason: end.reason,
    status: end.status,
    error_type: end.error_type,
    usage,
    cost_usd,
    provider: exchange.provider,
    attempts: exchange.attempts,
    failed_attempts: exchange.failed_attempts,
    timings: {
      started_epoch_ms: exchange.started_epoch_ms,
      duration_ms: exchange.clock.elapsed_ms() - started_ms,
      first_token_ms: first_token_ms === undefined ? undefined : first_token_ms - started_ms,
      upstream_wait_ms: exchange.upstream_wait_ms,
    },
  };
}

const priceOf = ({ model, usage }: Exchange): string => (model ? costOf(usage, model.pricing) : '0');

function logLine(exchange: Exchange, outcome: Outcome): void {
  if (!exchange.isLogged('info')) return;
  const { id: _, timings, usage, failed_attempts, ...facts } = outcome;
  exchange.log.info(
    {
      ...facts,
      ...(failed_attempts.length > 0 && { failed_attempts }),
      duration_ms: Math.round(timings.duration_ms),
      first_token_ms: timings.first_token_ms && Math.round(timings.first_token_ms),
      upstream_wait_ms: Math.round(timings.upstream_wait_ms),
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      cached_tokens: usage.cached_tokens,
      cache_creation_tokens: usage.cache_creation_tokens,
      reasoning_tokens: usage.completion_details?.reasoning_tokens,
      estimated: isEstimated(usage),
    },
    `${exchange.method} ${exchange.path} ${outcome.status}`,
  );
}
