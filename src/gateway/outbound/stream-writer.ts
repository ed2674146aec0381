import { markEvent } from '../../telemetry/tracing.ts';
import type { StreamRenderer } from '../dialects/define-dialect.ts';
import type { Chunk } from '../exchange/canonical.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ChunkSink, StreamHandle } from '../exchange/stream.ts';
import { keepAliveComment } from '../sse/encode.ts';
import { Framing } from './framing.ts';
import { eventStreamHeaders, writeHead } from './reply-headers.ts';
import { closing_patience_ms, type StreamLimits } from './reply-limits.ts';
import type { ReplySink } from './reply-sink.ts';
import { cutOff, untilRead } from './slow-client.ts';

/** Pending characters above which text is written at once instead of at the end of the turn. */
const max_pending_characters = 64 * 1024;

/** Time after a write in which another event has most likely come with the same read: a busy upstream sends several at a time. */
const same_read_ms = 0.5;

/** Timers fire up to a millisecond early. */
const timer_slack_ms = 2;

/** Writes one stream: commit of the head, heartbeat, one write per batch, back-pressure. */
export class StreamWriter implements ChunkSink {
  committed = false;
  readonly #exchange: Exchange;
  readonly #response: ReplySink;
  readonly #renderer: StreamRenderer;
  readonly #limits: StreamLimits;
  readonly #commitTimer: NodeJS.Timeout;
  #keepAlive: NodeJS.Timeout | undefined;
  #closing: NodeJS.Timeout | undefined;
  #pending = '';
  /** True while `#writePending` is due at the end of the turn. */
  #isWriting = false;
  /** When the last event or comment was written. */
  #written_ms = 0;
  /** True while the client has not read on. */
  #isFull = false;
  #stream: StreamHandle | undefined;
  readonly #over = Promise.withResolvers<void>();
  /** Settles `run` once the client has read on. */
  #ending: (() => void) | undefined;
  /** Set from the second write on, where possible. */
  #framing: Framing | undefined;
  #begun = false;

  constructor(exchange: Exchange, response: ReplySink, renderer: StreamRenderer, limits: StreamLimits) {
    this.#exchange = exchange;
    this.#response = response;
    this.#renderer = renderer;
    this.#limits = limits;
    this.#commitTimer = setTimeout(() => this.#commitEarly(), limits.stream_commit_ms);
  }

  /** Starts `stream`. Resolves at its end or when the client leaves; rejects with its error. */
  run(stream: StreamHandle): Promise<void> {
    this.#stream = stream;
    this.#exchange.onAbort(this.#aborted);
    stream.resume();
    return this.#over.promise;
  }

  chunk(chunk: Chunk): void {
    // Of a client that has left the response is closed as well.
    if (this.#response.destroyed && this.#exchange.client_gone) return;
    const text = this.#renderer.chunk(chunk);
    if (!this.committed) this.#commit();
    this.#pending += text;
    if (this.#pending.length > max_pending_characters) this.flush();
  }

  /** Writes what is pending: at once, or at the end of the turn what has most likely come with the event before it. */
  flush(): boolean {
    const response = this.#response;
    if (this.#pending !== '' && !response.destroyed) {
      const now_ms = this.#exchange.clock.elapsed_ms();
      const isFollowing = this.#framing && now_ms - this.#written_ms < same_read_ms;
      if (!isFollowing || this.#pending.length > max_pending_characters) {
        this.#written_ms = now_ms;
        this.#writePending();
      } else if (!this.#isWriting) {
        this.#isWriting = true;
        process.nextTick(this.#writePending);
      }
    }
    if (!response.destroyed || !this.#exchange.client_gone) return !this.#isFull;
    this.#over.resolve();
    return false;
  }

  end(): void {
    this.#end(this.#over.resolve);
  }

  fail(fault: unknown): void {
    this.#end(() => this.#over.reject(fault));
  }

  error(error: GatewayError): void {
    this.#send(this.#orCut(() => this.#renderer.error(error)));
  }

  /** Sends the rest and the end of the stream, and waits until the system has taken it. */
  async finish(): Promise<void> {
    const response = this.#response;
    const ending = this.#renderer.ending?.();
    if (ending) await ending;
    const last = this.#pending + this.#orCut(() => this.#renderer.end());
    this.#pending = '';
    this.#exchange.end.replyEnded();
    clearTimeout(this.#keepAlive);
    if (response.destroyed) return;
    const { slow_client_ms } = this.#limits;
    const closing = this.#exchange.end_reason === 'shutdown';
    const finished = untilRead(
      this.#exchange,
      response,
      'finish',
      closing ? Math.min(slow_client_ms, closing_patience_ms) : slow_client_ms,
    );
    if (this.#framing) this.#framing.end(last);
    else response.end(last);
    response.flush?.();
    await finished;
  }

  close(): void {
    clearTimeout(this.#commitTimer);
    clearTimeout(this.#keepAlive);
    clearTimeout(this.#closing);
    this.#exchange.offAbort(this.#aborted);
    this.#pending = '';
  }

  readonly #writePending = (): void => {
    const text = this.#pending;
    const response = this.#response;
    this.#isWriting = false;
    if (text === '' || response.destroyed) return;
    this.#pending = '';
    const keepsUp = this.#framing ? this.#framing.write(text) : response.write(text);
    response.flush?.();
    if (!this.#begun) {
      this.#begun = true;
      this.#framing = Framing.of(response);
    }
    if (!keepsUp && !this.#isFull) void this.#untilDrained();
  };

  /** Ends after a slow client has read what was sent to it. */
  #end(settle: () => void): void {
    if (this.#isFull) this.#ending ??= settle;
    else settle();
  }

  readonly #aborted = () => {
    if (this.#exchange.client_gone) this.#over.resolve();
    // The upstream's end comes at once, but a stage may be at work that never settles.
    else this.#closing = setTimeout(() => this.fail(refusal('server_error')), closing_patience_ms);
  };

  #send(text: string): void {
    if (!this.committed) this.#commit();
    this.#pending += text;
    this.flush();
  }

  #commit(): void {
    clearTimeout(this.#commitTimer);
    const exchange = this.#exchange;
    const { destroyed } = this.#response;
    if (!destroyed) this.#writeHead();
    this.committed = true;
    exchange.end.replied(200);
    markEvent(exchange.span, 'commit');
    exchange.replied_ms ??= exchange.clock.elapsed_ms();
    if (destroyed) return;
    const { keepalive_ms } = this.#limits;
    if (keepalive_ms > 0) this.#keepAlive = setTimeout(this.#beat, keepalive_ms);
    this.#written_ms = exchange.clock.elapsed_ms();
  }

  #writeHead(): void {
    const { contentType } = this.#renderer;
    const own =
      contentType == null ? eventStreamHeaders : { ...eventStreamHeaders, 'content-type': contentType };
    writeHead(this.#exchange, this.#response, 200, own);
  }

  #commitEarly(): void {
    if (!this.committed && !this.#exchange.client_gone) this.#writeHeartbeat();
  }

  /** Called by timers, where nothing else catches what a dialect throws. */
  #writeHeartbeat(): void {
    try {
      this.#send(this.#renderer.heartbeat?.() ?? keepAliveComment);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  /** What `render` returns. If it throws, cuts the connection. */
  #orCut(render: () => string): string {
    try {
      return render();
    } catch (err) {
      this.#exchange.log.error({ err }, 'the dialect failed to write the end of a stream');
      this.#exchange.end.errorSent({ type: 'server_error' });
      cutOff(this.#response);
      return '';
    }
  }

  /**
   * Sends a heartbeat if nothing was written for long enough. Writes do not restart the timer, since they are the hot path: it checks the
   * time of the last write when it fires.
   */
  readonly #beat = () => {
    if (this.#exchange.client_gone) return;
    const { keepalive_ms } = this.#limits;
    const silent_ms = this.#exchange.clock.elapsed_ms() - this.#written_ms;
    const due = silent_ms >= keepalive_ms - timer_slack_ms;
    if (due && !this.#isFull) this.#writeHeartbeat();
    this.#keepAlive = setTimeout(this.#beat, due ? keepalive_ms : keepalive_ms - silent_ms);
  };

  async #untilDrained(): Promise<void> {
    this.#isFull = true;
    await untilRead(this.#exchange, this.#response, 'drain', this.#limits.slow_client_ms);
    this.#isFull = false;
    if (this.#ending) this.#ending();
    // Text that came meanwhile goes first.
    else if (this.flush()) this.#stream?.resume();
  }
}
