import { SpanStatusCode } from '@opentelemetry/api';
import { storable } from '../../common/printable.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { epochOf } from '../../telemetry/tracing.ts';
import type { AttemptRecord } from '../exchange/attempt-record.ts';
import type { Exchange, StageTimeline } from '../exchange/exchange.ts';
import type { EndReason, SentError } from '../exchange/exchange-end.ts';
import type { Outcome, StageRecord } from '../exchange/exchange-view.ts';
import { originOf } from '../exchange/log-error.ts';
import { withoutPrompt } from '../exchange/prompt-filter.ts';
import { callCostOf } from './cost.ts';
import type { LedgerRow } from './ledger-entry.ts';
import { isEstimated, ledgerRowOf, wholeMs } from './ledger-row.ts';
import { lineShare } from './log-sample.ts';

/** Who gets the record of an exchange. */
export interface Reports {
  readonly metrics: Metrics;
  readonly ledger?: { record(row: LedgerRow): void } | undefined;
  /** What providers are paid, where a model has their prices. */
  readonly paidUsdOf?: (exchange: Exchange) => string | undefined;
  /** Share of successful exchanges that have a line in the log. */
  readonly log_sample: number;
}

/**
 * Settles an exchange: what it has used and how it ended is decided now; ledger, metrics and log get it once this turn of the event loop is
 * over, in which others are served. `setImmediate` keeps the asynchronous context, which an application's logger may read. Called exactly
 * once, from the `finally` that every exchange passes through.
 */
export function settle(exchange: Exchange, reports: Reports): Outcome {
  const outcome = settledOutcome(exchange, reports);
  setImmediate(report, exchange, outcome, reports);
  return outcome;
}

function settledOutcome(exchange: Exchange, { paidUsdOf }: Reports): Outcome {
  try {
    const outcome = outcomeOf(exchange);
    return exchange.model?.has_paid_prices ? { ...outcome, paid_usd: paidUsdOf?.(exchange) } : outcome;
  } catch (fault) {
    failed(exchange, 'cost', fault);
    // Without a price the tokens are still worth a row.
    return outcomeOf(exchange, '0');
  }
}

/** A fault in one of them is logged and keeps nothing from the others. */
function report(exchange: Exchange, outcome: Outcome, { ledger, metrics, log_sample }: Reports): void {
  try {
    // The row first: it is the bill.
    const { account, endpoint } = exchange;
    if (ledger && account && !endpoint.uncounted) ledger.record(ledgerRowOf(exchange, account, outcome));
  } catch (fault) {
    failed(exchange, 'ledger', fault);
  }
  try {
    metrics.settled(exchange, outcome);
    const { received_ms, replied_ms } = exchange;
    if (received_ms !== undefined && replied_ms !== undefined)
      metrics.overhead(exchange, Math.max(0, replied_ms - received_ms - exchange.upstream_wait_ms));
  } catch (fault) {
    failed(exchange, 'metrics', fault);
  }
  if (exchange.isLogged('info')) logLine(exchange, outcome, log_sample);
}

function failed(exchange: Exchange, part: string, err: unknown): void {
  exchange.log.error({ err, part }, 'failed to finalize request');
}

/**
 * Ends the exchange's span, after `onSettled` of its stages. It has failed if its status is a server error, or its reply broke off after
 * another status. A refusal has its `error.type` and has not failed, nor has an exchange whose client left.
 */
export function endServerSpan({ span, trace_id, end, attempts, model, account }: Exchange): void {
  if (trace_id === undefined) return;
  const { status, reason, error } = end;
  const isBroken = status < 400 && (error !== undefined || isFailure[reason]);
  const hasFailed = status >= 500 || isBroken;
  if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttributes({
    ...(status > 0 && { 'http.response.status_code': status }),
    'error.type': error?.type ?? (hasFailed ? errorTypeOf(status, reason) : undefined),
    'sluice.end_reason': reason,
    'sluice.error_param': error?.param?.slice(0, max_text),
    'sluice.attempts': attempts.length,
    'sluice.model': model?.id,
    'sluice.account': account?.id,
  });
  span.end(epochOf(performance.now()));
}

/** Whether a reply breaks off with it by the fault of the gateway or its upstream. */
const isFailure: Readonly<Record<EndReason, boolean>> = {
  upstream_failed: true,
  internal_error: true,
  time_limit: true,
  completed: false,
  refused: false,
  client_gone: false,
  slow_client: false,
  background_aborted: false,
  shutdown: false,
  cancelled: false,
};

const errorTypeOf = (status: number, reason: EndReason): string => (status >= 500 ? String(status) : reason);

/** Outcome of an exchange so far; its record, once it has ended. Throws only for a price that cannot be computed, if none is given. */
export function outcomeOf(exchange: Exchange, known_cost_usd?: string): Outcome {
  const { account, model, requested_model, usage, attempts, first_token_ms, started_ms, end } = exchange;
  const isAnswered = attempts.at(-1)?.outcome === 'completed';
  const cost_usd = known_cost_usd ?? (model ? callCostOf(usage, model.pricing, isAnswered) : '0');
  const { error } = end;
  return {
    id: exchange.id,
    endpoint: exchange.endpoint.name,
    account: account?.id,
    model: model?.id,
    requested_model:
      requested_model === model?.id ? undefined : requested_model && storable(requested_model, max_text),
    end_reason: end.reason,
    status: end.status,
    error_type: error?.type,
    code: error?.code,
    error_message: error && messageOf(exchange, error),
    error_param: error?.param && storable(error.param, max_text),
    limit: error?.limit,
    stream: exchange.hasRequest ? exchange.request.stream : undefined,
    trace_id: exchange.trace_id,
    usage,
    cost_usd,
    provider: exchange.provider,
    attempts,
    stages: stageRecords(exchange.stageTimelines),
    timings: {
      started_epoch_ms: exchange.started_epoch_ms,
      duration_ms: exchange.clock.elapsed_ms() - started_ms,
      first_token_ms: first_token_ms === undefined ? undefined : first_token_ms - started_ms,
      upstream_wait_ms: exchange.upstream_wait_ms,
    },
  };
}

/** Most stage records of one exchange. */
const max_stage_records = 64;

function stageRecords(timelines: readonly StageTimeline[]): StageRecord[] {
  if (timelines.length === 1) return timelines[0]!.records(max_stage_records);
  const records: StageRecord[] = [];
  for (const timeline of timelines) records.push(...timeline.records(max_stage_records - records.length));
  return records;
}

/** Characters of a text in the record. */
const max_text = 300;

/** What the client was told. Only what is said of its request can quote it, and the search for quotations takes time. */
function messageOf(exchange: Exchange, { message, type, code }: SentError): string | undefined {
  if (message === undefined) return undefined;
  const mayQuote = type === 'invalid_request_error' || code === undefined;
  const said = mayQuote ? withoutPrompt(exchange, message) : message;
  return typeof said === 'string' ? storable(said, max_text) : undefined;
}

function logLine(exchange: Exchange, outcome: Outcome, log_sample: number): void {
  const sample = lineShare(outcome, log_sample);
  if (sample === 0) return;
  const { id: _, trace_id: __, stages: ___, timings, usage, attempts, ...facts } = outcome;
  exchange.log.info(
    {
      ...facts,
      ...originOf(exchange),
      upstream_status: attempts.at(-1)?.status,
      attempts: attempts.map(attemptFields),
      duration_ms: Math.round(timings.duration_ms),
      ttft_ms: wholeMs(timings.first_token_ms),
      upstream_wait_ms: Math.round(timings.upstream_wait_ms),
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      cached_tokens: usage.cached_tokens,
      cache_creation_tokens: usage.cache_creation_tokens,
      reasoning_tokens: usage.completion_details?.reasoning_tokens,
      estimated: isEstimated(usage),
      ...(sample < 1 && { sample }),
    },
    `${exchange.method} ${exchange.path} ${outcome.status}`,
  );
}

/** An attempt as the log has it: its fields as far as there is something to say, in whole milliseconds. */
function attemptFields({
  provider,
  model,
  status,
  outcome,
  kind,
  error_message,
  ...times
}: AttemptRecord): object {
  return {
    provider,
    model,
    status,
    outcome,
    kind,
    error_message,
    wait_ms: times.wait_ms > 0 ? Math.round(times.wait_ms) : undefined,
    ttft_ms: wholeMs(times.first_token_ms),
    duration_ms: wholeMs(times.duration_ms),
  };
}
