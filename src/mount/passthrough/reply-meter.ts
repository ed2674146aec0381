import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import type { Usage } from '../../gateway/exchange/canonical.ts';
import { decompressorOf } from '../../gateway/upstream/http/reply-body.ts';
import { packed_bytes_per_token } from './request-meter.ts';
import { EventUsage, JsonUsage, PlainText, type UsageReader } from './usage-readers.ts';

/** Bytes of a decompressed reply that are looked at: a list of 2,048 embeddings of 3,072 numbers has half as many. */
const max_reply_bytes = 256 * 1024 * 1024;
/** Compressed bytes that may wait for the decompressor. Above that the reply waits as well. */
const max_waiting_bytes = 1024 * 1024;
/** Those above which the reply is not read on: a client that catches up lets a part of it pass in spite of the pause. */
const most_waiting_bytes = 16 * max_waiting_bytes;

/** Compressed bytes of an event, which has a token. */
const packed_bytes_per_event = 16;

/** Types of streams of events, and of replies without text. */
const stream = /^text\/event-stream\b/i;
const lines = /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines)\b/i;
const media = /^(?:audio|image|video|application\/(?:octet-stream|zip|pdf))\b/i;

/** Whether a body is JSON by its `Content-Type`. */
const isJson = (headers: IncomingHttpHeaders): boolean =>
  /^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '');

/** How a reply is read. */
interface Reading {
  /** Whether its text was generated, and is to be counted. */
  readonly generates: boolean;
  readonly max_bytes?: number;
}

/** Reads the usage, and the text, in a reply's bytes as they pass. Never fails the reply. */
export class ReplyMeter {
  /** Resolves when what has passed of the reply was read. */
  readonly done: Promise<void>;
  /** True if the usage is at the end of a whole reply, and not in events on the way. */
  readonly isWhole: boolean;
  readonly #generates: boolean;
  readonly #max_bytes: number;
  readonly #type: string;
  #reader: UsageReader | undefined;
  /** Bytes of the reply as they came, and those that were read. */
  #passed_bytes = 0;
  #read_bytes = 0;
  #isRead = true;

  /** Begins to read a reply whose body has not been read. */
  constructor(reply: IncomingMessage, { generates, max_bytes = max_reply_bytes }: Reading) {
    const create = decompressorOf(reply);
    this.#generates = generates;
    this.#max_bytes = max_bytes;
    this.#type = reply.headers['content-type'] ?? '';
    this.isWhole = create !== null && isJson(reply.headers);
    this.#isRead = create !== null;
    reply.on('data', (part: Buffer) => {
      this.#passed_bytes += part.length;
    });
    this.done = create ? this.#unpack(reply, create()) : this.#read(reply, create === undefined);
  }

  get usage(): Usage | undefined {
    return this.#reader?.usage;
  }

  get model(): string | undefined {
    return this.#reader?.model;
  }

  get id(): string | undefined {
    return this.#reader?.id;
  }

  /** Estimated tokens of the generated text that the usage does not cover. */
  get text_tokens(): number {
    if (!this.#generates) return 0;
    const read = this.#reader?.text_tokens ?? 0;
    if (read > 0 || this.#isRead || this.usage || media.test(this.#type)) return read;
    const bytes = stream.test(this.#type) ? packed_bytes_per_event : packed_bytes_per_token;
    return Math.ceil(this.#passed_bytes / bytes);
  }

  /** The most tokens of text that the reply can have: each has a byte at least. */
  get most_tokens(): number {
    return this.#read_bytes;
  }

  #read(reply: IncomingMessage, isPlain: boolean): Promise<void> {
    if (isPlain) reply.on('data', part => this.#write(part)).once('end', () => this.#reader?.end?.());
    return new Promise(resolve => reply.once('end', resolve).once('close', resolve));
  }

  #unpack(reply: IncomingMessage, plain: Transform): Promise<void> {
    const read = new Promise<void>(resolve => plain.once('close', resolve));
    let isFull = false;
    const go = () => {
      if (isFull) reply.resume();
      isFull = false;
    };
    plain.on('data', part => this.#write(part) || plain.destroy()).once('end', () => this.#reader?.end?.());
    plain.on('error', () => {
      this.#isRead = false;
    });
    plain.on('drain', go).on('close', go);
    reply.on('data', part => {
      if (plain.destroyed || plain.write(part) || plain.writableLength <= max_waiting_bytes) return;
      isFull = true;
      reply.pause();
      if (plain.writableLength > most_waiting_bytes) plain.destroy(new Error('the reply comes too fast'));
    });
    // A reply that broke off is read as far as it came.
    reply.once('end', () => plain.end()).once('close', () => plain.end());
    return read;
  }

  /** Reads a part; false once there was too much. */
  #write(part: Buffer): boolean {
    this.#read_bytes += part.length;
    if (this.#read_bytes > this.#max_bytes) {
      this.#isRead = false;
      return false;
    }
    this.#reader ??= this.#readerOf(part);
    this.#reader?.write(part);
    return true;
  }

  /** The reader of what begins with `part`, whatever its type is said to be; undefined before its first character. */
  #readerOf(part: Buffer): UsageReader | undefined {
    const start = part.toString('latin1', 0, 64).replace(/^(?:\xef\xbb\xbf)?\s*/, '');
    if (start === '') return undefined;
    const isStream = stream.test(this.#type);
    if (start.startsWith('{'))
      return isStream || lines.test(this.#type)
        ? new EventUsage(this.#generates, true)
        : new JsonUsage(this.#generates);
    if (isStream || /^(?:data|event|id|retry)?:/.test(start)) return new EventUsage(this.#generates, false);
    return media.test(this.#type) ? undefined : new PlainText();
  }
}
