import type { Metrics } from '../../telemetry/metrics.ts';
import type { Completion, Usage } from '../exchange/canonical.ts';
import { GatewayError } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ChunkMeter } from '../exchange/stream.ts';
import { shownUsage } from '../outbound/reply-shape.ts';
import type { TokenCounter } from './token-estimator.ts';
import { UsageMeter } from './usage-meter.ts';

/** Counts an upstream's stream before any stage sees it, so that no stage or client option can avoid the count. */
export class StreamMeter extends UsageMeter implements ChunkMeter {
  readonly #metrics: Metrics;
  #ended = false;

  constructor(exchange: Exchange, metrics: Metrics, newCounter?: () => TokenCounter) {
    super(exchange, newCounter);
    this.#metrics = metrics;
    this.begin();
  }

  /** Ends the count, with the stream or with its exchange; the first call counts. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.finish(this.hasBegun);
    report(this.exchange, this, this.#metrics);
  }
}

/** Counts the upstream's whole reply, and returns it with the usage that the client will see. */
export function meteredReply(
  exchange: Exchange,
  reply: Completion,
  metrics: Metrics,
  newCounter?: () => TokenCounter,
): Completion {
  const meter = new UsageMeter(exchange, newCounter);
  meter.reply(reply);
  // Before the reply is handed on, so that the client sees what is billed.
  meter.finish(true);
  report(exchange, meter, metrics);
  return { choices: reply.choices, usage: shownUsage(exchange) };
}

/** Counts a whole reply that did not come: the prompt, if the upstream was at work. */
export function meterFailure(
  exchange: Exchange,
  thrown: unknown,
  metrics: Metrics,
  newCounter?: () => TokenCounter,
): void {
  const meter = new UsageMeter(exchange, newCounter);
  // An attempt that the gateway itself ended throws `server_error`.
  meter.finish(false, GatewayError.from(thrown).type !== 'server_error');
  report(exchange, meter, metrics);
}

function report(exchange: Exchange, { error_ratio, impossible }: UsageMeter, metrics: Metrics): void {
  if (error_ratio !== undefined) metrics.estimateChecked(exchange, error_ratio);
  if (impossible) reportBounded(exchange, impossible, metrics);
}

/** Reports `told`, the provider's figures, for which the context window is billed. */
export function reportBounded(exchange: Exchange, told: Usage, metrics: Metrics): void {
  const { provider = '', model } = exchange;
  metrics.routing.usageBounded(provider);
  const { prompt_tokens, completion_tokens } = told;
  exchange.log.warn(
    { provider, model: model?.id, context_length: model?.context_length, prompt_tokens, completion_tokens },
    'usage_bounded: the provider reported more tokens than fit the context window',
  );
}
