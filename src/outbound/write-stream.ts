import type { Chunk } from '../canonical.ts';
import type { StreamRenderer } from '../dialects/dialect.ts';
import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { keepAliveComment } from '../sse/encode.ts';
import { markEvent } from '../telemetry/tracing.ts';
import type { StreamLimits } from './limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { untilDrained, untilFinished } from './slow-client.ts';

/** Text that waits for the end of the turn is written at once when it is longer than this. */
const max_pending_characters = 64 * 1024;

/** Timers fire up to a millisecond early. */
const timer_slack_ms = 2;

/** How long a client may take to read the end of its stream when the gateway shuts down. */
const closing_patience_ms = 2000;

/**
 * Sends a stream. An error before the first event is thrown, so that it becomes a true HTTP status; one after it becomes the
 * dialect's error event, and the stream ends as every stream ends (protocol c1 to c3).
 */
export async function writeStream(
  exchange: Exchange,
  response: ReplySink,
  chunks: AsyncIterable<Chunk>,
  renderer: StreamRenderer,
  toClientError: (thrown: unknown) => GatewayError,
  limits: StreamLimits,
): Promise<void> {
  const writer = new StreamWriter(exchange, response, limits);
  try {
    for await (const chunk of chunks) {
      const drained = writer.write(renderer.chunk(chunk));
      if (drained) await drained;
      if (exchange.client_gone) return;
    }
  } catch (thrown) {
    if (exchange.client_gone) return;
    if (!writer.committed) throw thrown;
    const error = toClientError(thrown);
    exchange.error_type = error.type;
    writer.write(renderer.error(error));
  } finally {
    if (writer.committed && !exchange.client_gone) await writer.end(renderer.end());
    writer.close();
  }
}

/** The wire of one stream: commit, heartbeat, one write for what comes together, back-pressure. */
class StreamWriter {
  committed = false;
  readonly #exchange: Exchange;
  readonly #response: ReplySink;
  readonly #limits: StreamLimits;
  readonly #commitTimer: NodeJS.Timeout;
  #keepAlive: NodeJS.Timeout | undefined;
  #pending = '';
  /** When the last event or comment was written. */
  #written_ms = 0;
  #scheduled = false;
  #drained: Promise<void> | undefined;

  constructor(exchange: Exchange, response: ReplySink, limits: StreamLimits) {
    this.#exchange = exchange;
    this.#response = response;
    this.#limits = limits;
    this.#commitTimer = setTimeout(() => this.#commitEarly(), limits.stream_commit_ms);
  }

  /** Takes SSE text. A promise says that the client does not keep up: wait for it before reading on. */
  write(text: string): Promise<void> | undefined {
    if (!this.committed) this.#commit();
    this.#pending += text;
    if (this.#pending.length > max_pending_characters) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      // Ticks run when this turn's promises have: all that one network read brought leaves in one write.
      process.nextTick(this.#flush);
    }
    return this.#drained;
  }

  /** Sends what is left and `text`, and waits until the system has taken it. */
  async end(text: string): Promise<void> {
    const response = this.#response;
    const last = this.#pending + text;
    this.#pending = '';
    this.#exchange.reply_ended = true;
    clearTimeout(this.#keepAlive);
    if (response.destroyed) return;
    const { slow_client_ms } = this.#limits;
    const closing = this.#exchange.end_reason === 'shutdown';
    const finished = untilFinished(
      this.#exchange,
      response,
      closing ? Math.min(slow_client_ms, closing_patience_ms) : slow_client_ms,
    );
    response.end(last);
    response.flush?.();
    await finished;
  }

  close(): void {
    clearTimeout(this.#commitTimer);
    clearTimeout(this.#keepAlive);
    this.#pending = '';
  }

  #commit(): void {
    this.committed = true;
    clearTimeout(this.#commitTimer);
    const exchange = this.#exchange;
    exchange.status = 200;
    markEvent(exchange.span, 'commit');
    exchange.replied_ms ??= exchange.clock.elapsed_ms();
    if (this.#response.destroyed) return;
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      // Compression and proxies would hold the stream back (protocol k1).
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': exchange.id,
      ...exchange.replyHeaders,
    });
    const { keepalive_ms } = this.#limits;
    if (keepalive_ms > 0) this.#keepAlive = setTimeout(this.#beat, keepalive_ms);
    this.#written_ms = exchange.clock.elapsed_ms();
  }

  #commitEarly(): void {
    if (this.committed || this.#exchange.client_gone) return;
    this.#commit();
    this.write(keepAliveComment);
  }

  /** The timer runs on while events are written, and looks when it fires how long ago the last one was: writing is the hot path. */
  readonly #beat = () => {
    if (this.#exchange.client_gone) return;
    const { keepalive_ms } = this.#limits;
    const silent_ms = this.#exchange.clock.elapsed_ms() - this.#written_ms;
    const due = silent_ms >= keepalive_ms - timer_slack_ms;
    if (due && !this.#drained) this.write(keepAliveComment);
    this.#keepAlive = setTimeout(this.#beat, due ? keepalive_ms : keepalive_ms - silent_ms);
  };

  readonly #flush = () => {
    this.#scheduled = false;
    const text = this.#pending;
    if (text === '' || this.#response.destroyed) return;
    this.#pending = '';
    this.#written_ms = this.#exchange.clock.elapsed_ms();
    const keepsUp = this.#response.write(text);
    this.#response.flush?.();
    if (!keepsUp) this.#drained ??= this.#untilDrained();
  };

  async #untilDrained(): Promise<void> {
    await untilDrained(this.#exchange, this.#response, this.#limits.slow_client_ms);
    this.#drained = undefined;
  }
}
