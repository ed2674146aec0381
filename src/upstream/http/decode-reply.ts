import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { Chunk, Completion } from '../../canonical.ts';
import { exceeds } from '../../dialects/json-size.ts';
import { GatewayError, refusal } from '../../errors.ts';
import { type SseEvent, SseParser } from '../../sse/parse.ts';
import type { Adapter, StreamDecoder } from '../adapter.ts';
import { failureOf } from '../attempt/attempt-failure.ts';
import { textOf } from './reply-body.ts';
import type { Body } from './upstream-call.ts';

export interface ReplyLimits {
  readonly max_event_bytes: number;
  readonly max_reply_bytes: number;
}

/** Enough for 32,768 tokens with log probabilities of twenty alternatives each; a reply of 64 MiB could have seven times as many. */
const max_reply = { values: 6_000_000, keys: 4_000_000 };

/** A whole reply's text in the canonical form. Throws `provider_invalid` for what is not JSON, or would be too large in memory. */
export function decodeText(text: string, adapter: Pick<Adapter, 'decodeReply'>): Completion {
  let body: unknown;
  if (exceeds(text, max_reply))
    throw refusal('provider_invalid', { cause: new Error('a reply of too many values') });
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw refusal('provider_invalid', { cause });
  }
  return adapter.decodeReply(body);
}

/** A whole reply's bytes in the canonical form. */
export async function decodeWhole(
  body: Body,
  adapter: Pick<Adapter, 'decodeReply'>,
  { max_reply_bytes }: ReplyLimits,
): Promise<Completion> {
  return decodeText(await textOf(body, max_reply_bytes), adapter);
}

/** Whether a streamed request was answered with events; some servers send a plain reply (protocol k4). */
export function isEventStream(headers: IncomingHttpHeaders): boolean {
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/html')) throw refusal('provider_invalid', { cause: new Error('an HTML page') });
  return !type.startsWith('application/json');
}

/** Decodes the bytes of one stream to chunks, synchronously. Returns the chunks before an error, then reports the error. */
export class EventReader {
  /** True after `[DONE]`, or the format's equivalent. */
  done = false;
  /** The stream's error; nothing can be read after it. */
  fault: unknown;
  /** True if the error is size: one event or the whole stream is too large. */
  tooLarge = false;
  readonly #decoder: StreamDecoder;
  readonly #limits: ReplyLimits;
  readonly #parser: SseParser;
  /** Joins characters that were cut between two reads. */
  readonly #characters = new StringDecoder('utf8');
  #total_bytes = 0;

  constructor(decoder: StreamDecoder, limits: ReplyLimits) {
    this.#decoder = decoder;
    this.#limits = limits;
    this.#parser = new SseParser(limits.max_event_bytes);
  }

  read(bytes: Buffer): Chunk[] {
    const { max_reply_bytes } = this.#limits;
    this.#total_bytes += bytes.length;
    if (this.#total_bytes > max_reply_bytes) {
      this.tooLarge = true;
      this.fault = refusal('provider_invalid', { cause: new Error(`a reply over ${max_reply_bytes} bytes`) });
      return [];
    }
    return this.#decode(() => this.#parser.feed(this.#characters.write(bytes)));
  }

  /** True once every choice that began has its finish reason. */
  get complete(): boolean {
    return this.#decoder.complete;
  }

  /** Chunks left by the last event, at the regular end of the bytes. Sets `fault` if a choice has not finished. */
  end(): Chunk[] {
    const chunks = this.#decode(() => this.#parser.end());
    // All choices have finished, so a cut within `[DONE]` loses nothing (protocol c3).
    if (this.#decoder.complete) {
      if (GatewayError.is(this.fault) && this.fault.code === 'provider_invalid') this.fault = undefined;
    } else {
      this.fault ??= refusal('provider_broke_off', { cause: new Error('ended without finish_reason') });
    }
    return chunks;
  }

  /** Whether all choices had finished before the connection broke or timed out: then nothing is lost (protocol c3). */
  survives(thrown: unknown): boolean {
    const { kind } = failureOf(thrown, true);
    return this.#decoder.complete && (kind === 'broken' || kind === 'timeout');
  }

  #finish(): void {
    this.done = true;
    if (!this.#decoder.complete)
      this.fault = refusal('provider_broke_off', { cause: new Error('its end came without finish_reason') });
  }

  #decode(parse: () => SseEvent[]): Chunk[] {
    let chunks: Chunk[] = [];
    try {
      for (const event of parse()) {
        if (isDone(event)) {
          this.#finish();
          break;
        }
        const decoded = this.#decoder.decode(event);
        // Mostly one event comes at a time, and its chunks are the result.
        if (chunks.length === 0) chunks = decoded;
        else chunks.push(...decoded);
        if (this.#decoder.done) {
          this.#finish();
          break;
        }
      }
      if (this.#parser.isOverfull && !this.done) {
        this.tooLarge = true;
        this.fault = refusal('provider_invalid', {
          cause: new Error('an event exceeds the configured size'),
        });
      }
    } catch (thrown) {
      this.fault = thrown;
    }
    return chunks;
  }
}

const isDone = ({ data }: SseEvent): boolean => data === '[DONE]' || data.trim() === '[DONE]';

/** A whole reply as the one chunk of a stream. */
export function chunkOf({ choices, usage }: Completion): Chunk {
  return {
    choices: choices.map(({ index, message, finish_reason, logprobs }) => {
      const { tool_calls, ...rest } = message;
      const calls = tool_calls?.map((call, at) => ({ index: at, ...call }));
      const delta = { ...rest, ...(calls && { tool_calls: calls }) };
      return { index, delta, finish_reason, ...(logprobs != null && { logprobs }) };
    }),
    ...(usage && { usage }),
  };
}
