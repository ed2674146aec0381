import { StringDecoder } from 'node:string_decoder';
import type { Chunk, StreamDecoder } from '../../exchange/canonical.ts';
import { GatewayError, refusal } from '../../exchange/errors.ts';
import { type SseEvent, SseParser } from '../../sse/parse.ts';
import { ReplyBounds } from '../reply-bounds.ts';
import type { Body, BodyConsumer } from './upstream-call.ts';

/** Time for an upstream to end its reply after `[DONE]`, before its connection is closed. */
const done_patience_ms = 1000;
/** Time for usage and `[DONE]` to follow the last finish reason; the client's last chunk waits for them. */
const finish_patience_ms = 5000;

/** Receives the decoded stream. */
export interface StreamReaderOwner {
  /** True if it takes nothing more. */
  readonly isOver: boolean;
  /** Takes chunks that arrived together. False asks for a pause until `drained`. */
  give(chunks: readonly Chunk[]): boolean;
  /** Ends the stream. `late`: an error after every choice had its finish reason, which the client does not see. */
  finish(late?: unknown): void;
  /** Ends the stream with an error. `tooLarge`: one event, or the whole stream, exceeds its limit. */
  fault(thrown: unknown, tooLarge: boolean): void;
}

export interface DecodeLimits {
  readonly max_event_bytes: number;
  readonly max_reply_bytes: number;
}

/** Decodes the bytes of one event stream to chunks, in the turn in which they arrive. Chunks before an error come before the error. */
export class StreamReader implements BodyConsumer {
  readonly #decoder: StreamDecoder;
  readonly #owner: StreamReaderOwner;
  readonly #max_reply_bytes: number;
  readonly #choices: number;
  /** Choices with a finish reason: of several, one may end long before the next begins. */
  readonly #finished = new Set<number>();
  readonly #bounds = new ReplyBounds();
  readonly #parser: SseParser;
  /** Joins characters that were cut between two reads; made with the first that is. */
  #characters: StringDecoder | undefined;
  #body: Body | undefined;
  #total_bytes = 0;
  /** True after `[DONE]`, or the format's equivalent. */
  #done = false;
  #fault: unknown;
  #tooLarge = false;
  #patience: NodeJS.Timeout | undefined;

  constructor(decoder: StreamDecoder, owner: StreamReaderOwner, limits: DecodeLimits, choices = 1) {
    this.#decoder = decoder;
    this.#owner = owner;
    this.#max_reply_bytes = limits.max_reply_bytes;
    this.#choices = choices;
    this.#parser = new SseParser(limits.max_event_bytes);
  }

  read(body: Body): void {
    this.#body = body;
    body.readInto(this);
  }

  bytes(part: Buffer): boolean {
    // Bytes after the end are discarded.
    if (this.#owner.isOver) return true;
    this.#total_bytes += part.length;
    if (this.#total_bytes > this.#max_reply_bytes)
      this.#exceeded(`a reply over ${this.#max_reply_bytes} bytes`);
    // A read ends within a character only where it ends with a byte above ASCII.
    if (part[part.length - 1]! >= 0x80) this.#characters ??= new StringDecoder('utf8');
    const text = this.#characters?.write(part) ?? part.toString();
    const wantsMore = this.#owner.give(this.#tooLarge ? [] : this.#decode(this.#parser.feed(text)));
    if (this.#fault !== undefined) this.#faulted();
    else if (this.#done) {
      this.#finish();
      this.#body?.release(done_patience_ms);
    } else if (this.#finished.size > 0 && this.#isWhole)
      this.#patience ??= setTimeout(this.#late, finish_patience_ms).unref();
    return wantsMore;
  }

  end(): void {
    if (this.#owner.isOver) return;
    const chunks = this.#decode(this.#parser.end());
    if (!this.#decoder.complete) this.#fault ??= brokeOff('ended without finish_reason');
    // All choices have finished, so a cut within `[DONE]` loses nothing.
    else if (GatewayError.is(this.#fault) && this.#fault.code === 'provider_invalid') this.#fault = undefined;
    this.#owner.give(chunks);
    if (this.#fault !== undefined) this.#faulted();
    this.#finish();
  }

  fail(error: Error): void {
    // This error follows from the one that was reported.
    if (this.#fault === undefined) this.#failed(error);
  }

  /** Reads on, because all chunks were taken. */
  drained(): void {
    this.#body?.resume();
  }

  /** Stops waiting for the end of the stream. */
  close(): void {
    clearTimeout(this.#patience);
  }

  /** True once every choice that was asked for has its finish reason: no error after it loses anything. */
  get #isWhole(): boolean {
    return this.#finished.size >= this.#choices && this.#decoder.complete;
  }

  #decode(events: readonly SseEvent[]): Chunk[] {
    let chunks: Chunk[] = [];
    try {
      for (let next = 0; next < events.length; next++) {
        const event = events[next]!;
        const isEnd = !event.data.startsWith('{') && event.data.trim() === '[DONE]';
        const decoded = isEnd ? [] : this.#decoder.decode(event);
        // By index, here and wherever each event passes: iterators of short arrays are a tenth of its heap.
        for (let at = 0; at < decoded.length; at++) this.#count(decoded[at]!);
        // Usually there is one event, and its chunks are the result.
        if (chunks.length === 0) chunks = decoded;
        else chunks.push(...decoded);
        if (!isEnd && !this.#decoder.done) continue;
        this.#done = true;
        if (!this.#decoder.complete) this.#fault = brokeOff('its end came without finish_reason');
        return chunks;
      }
      if (this.#parser.isOverfull) this.#exceeded('an event exceeds the configured size');
    } catch (thrown) {
      this.#fault = thrown;
    }
    return chunks;
  }

  #count({ choices }: Chunk): void {
    for (let at = 0; at < choices.length; at++) {
      const { index, delta, finish_reason, logprobs } = choices[at]!;
      // Of text, as nearly every piece is, there is nothing to count.
      const { tool_calls, reasoning_details, native, annotations, images } = delta;
      const hasParts = tool_calls || reasoning_details || native || annotations || images;
      if (index > 0 || hasParts || logprobs != null) this.#bounds.add(choices[at]!, delta);
      if (finish_reason !== null) this.#finished.add(index);
    }
  }

  #faulted(): void {
    this.#failed(this.#fault);
    if (this.#isWhole) this.#body?.cancel(new Error('the upstream failed after its answer'));
  }

  #failed(thrown: unknown): void {
    if (this.#isWhole && !this.#owner.isOver) this.#owner.finish(thrown);
    else this.#owner.fault(thrown, this.#tooLarge);
  }

  #exceeded(limit: string): void {
    this.#tooLarge = true;
    this.#fault = refusal('provider_invalid', { cause: new Error(limit) });
  }

  #finish(): void {
    if (!this.#owner.isOver) this.#owner.finish();
  }

  readonly #late = (): void => {
    this.#finish();
    this.#body?.cancel(new Error('the upstream did not end its stream'));
  };
}

const brokeOff = (how: string): GatewayError => refusal('provider_broke_off', { cause: new Error(how) });
