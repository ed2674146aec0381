import type { Exchange, Outcome } from '../exchange.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { endSpan } from '../telemetry/tracing.ts';

/**
 * The one end of an exchange: what it used and how it ended, told to metrics, span and log. Called exactly once, from the one
 * `finally` that every exchange passes through.
 */
export function settle(exchange: Exchange, metrics: Metrics): Outcome {
  const outcome: Outcome = {
    end_reason: exchange.end_reason ?? endReasonOf(exchange),
    status: exchange.status,
    error_type: exchange.error_type,
    usage: exchange.usage,
    duration_ms: exchange.clock.elapsed_ms() - exchange.started_ms,
  };
  exchange.end_reason = outcome.end_reason;
  metrics.settled(exchange, outcome);
  const { received_ms, replied_ms } = exchange;
  if (received_ms !== undefined && replied_ms !== undefined) {
    metrics.overhead(exchange, Math.max(0, replied_ms - received_ms - exchange.upstream_wait_ms));
  }
  const { span } = exchange;
  if (span.isRecording()) {
    span.setAttributes({
      'http.response.status_code': outcome.status,
      'sluice.end_reason': outcome.end_reason,
    });
  }
  endSpan(span, outcome.error_type);
  logLine(exchange, outcome);
  return outcome;
}

function endReasonOf({ error_type, status }: Exchange): Outcome['end_reason'] {
  if (error_type === 'server_error') return 'internal_error';
  return error_type !== undefined || status >= 400 ? 'refused' : 'completed';
}

function logLine(exchange: Exchange, { end_reason, status, error_type, usage, duration_ms }: Outcome): void {
  if (!exchange.log.isLevelEnabled('info')) return;
  exchange.log.info(
    {
      endpoint: exchange.endpoint.name,
      status,
      end_reason,
      error_type,
      account: exchange.account?.id,
      model: exchange.model?.id,
      duration_ms: Math.round(duration_ms),
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      cached_tokens: usage.cached_tokens,
      estimated: usage.estimated,
    },
    `${exchange.method} ${exchange.path} ${status}`,
  );
}
