import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { Usage } from '../../canonical.ts';
import { isObject, type Json } from '../../json-object.ts';
import { type SseEvent, SseParser } from '../../sse/parse.ts';
import { decompressorOf } from '../http/reply-body.ts';
import { JsonMembers } from './json-members.ts';
import { reportedUsage } from './reported-usage.ts';

/** Bytes of a decompressed reply that are looked at: a list of 2,048 embeddings of 3,072 numbers has half as many. */
const max_reply_bytes = 256 * 1024 * 1024;
/** Bytes of the usage, and of the model's name, and of an event. */
const max_value_bytes = 16 * 1024;
const max_event_bytes = 1024 * 1024;
/** Compressed bytes that may wait for the decompressor. Above that the reply comes faster than it can be read. */
const max_waiting_bytes = 8 * 1024 * 1024;

/** Reads the usage of a reply in one format. */
interface UsageReader {
  /** Takes the next bytes of the reply. */
  write(part: Buffer): void;
  /** Ends a reply that is complete. */
  end?(): void;
  /** Undefined as long as there is none that counts. */
  readonly usage: Usage | undefined;
  /** The model that the reply names. */
  readonly model: string | undefined;
  /** The id that the reply has. */
  readonly id: string | undefined;
}

/** Whether a body is JSON by its `Content-Type`. */
export const isJson = (headers: IncomingHttpHeaders): boolean =>
  /^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '');

/** Reads the usage in a reply's bytes as they pass. Never delays or fails the reply. */
export class ReplyMeter {
  /** Resolves when what has passed of the reply was read. */
  readonly done: Promise<void>;
  /** True if the usage is at the end of a whole reply, and not in events on the way. */
  readonly isWhole: boolean;
  readonly #reader: UsageReader;
  readonly #max_bytes: number;
  #read_bytes = 0;

  private constructor(reply: IncomingMessage, reader: UsageReader, isWhole: boolean, max_bytes: number) {
    this.#reader = reader;
    this.isWhole = isWhole;
    this.#max_bytes = max_bytes;
    this.done = this.#read(reply);
  }

  /** The meter of a reply whose body has not been read; undefined if the reply is neither JSON nor events, or in an unknown encoding. */
  static of(reply: IncomingMessage, max_bytes: number = max_reply_bytes): ReplyMeter | undefined {
    if (decompressorOf(reply) === null) return undefined;
    if (isJson(reply.headers)) return new ReplyMeter(reply, new JsonUsage(), true, max_bytes);
    const isStream = /^text\/event-stream\b/i.test(reply.headers['content-type'] ?? '');
    return isStream ? new ReplyMeter(reply, new EventUsage(), false, max_bytes) : undefined;
  }

  get usage(): Usage | undefined {
    return this.#reader.usage;
  }

  get model(): string | undefined {
    return this.#reader.model;
  }

  get id(): string | undefined {
    return this.#reader.id;
  }

  #read(reply: IncomingMessage): Promise<void> {
    const plain = decompressorOf(reply)?.();
    const write = (part: Buffer) => this.#write(part);
    if (!plain) {
      reply.on('data', write).once('end', () => this.#reader.end?.());
      return new Promise(resolve => reply.once('end', resolve).once('close', resolve));
    }
    const read = new Promise<void>(resolve => plain.once('close', resolve));
    plain.on('error', () => {}).on('data', part => this.#write(part) || plain.destroy());
    plain.once('end', () => this.#reader.end?.());
    reply.on('data', part => {
      if (plain.destroyed) return;
      if (plain.writableLength + part.length > max_waiting_bytes) plain.destroy();
      else plain.write(part);
    });
    reply.once('end', () => plain.end()).once('close', () => reply.readableEnded || plain.destroy());
    return read;
  }

  /** Reads a part; false once there was too much. */
  #write(part: Buffer): boolean {
    this.#read_bytes += part.length;
    const isWithin = this.#read_bytes <= this.#max_bytes;
    if (isWithin) this.#reader.write(part);
    return isWithin;
  }
}

/** Usage in a JSON object. Counts only once the object has ended: an upstream that broke off is not paid. */
class JsonUsage implements UsageReader {
  readonly #members = new JsonMembers(['usage', 'meta', 'model', 'id'], max_value_bytes);

  write(part: Buffer): void {
    this.#members.write(part);
  }

  get usage(): Usage | undefined {
    if (!this.#members.isComplete) return undefined;
    return reportedUsage({ usage: this.#members.get('usage'), meta: this.#members.get('meta') });
  }

  get model(): string | undefined {
    return textOf(this.#members.get('model'));
  }

  get id(): string | undefined {
    return textOf(this.#members.get('id'));
  }
}

/** The last usage in a stream of events, whose figures are cumulative. */
class EventUsage implements UsageReader {
  usage: Usage | undefined;
  model: string | undefined;
  id: string | undefined;
  readonly #parser = new SseParser(max_event_bytes);
  readonly #decoder = new StringDecoder('utf8');

  write(part: Buffer): void {
    this.#take(this.#parser.feed(this.#decoder.write(part)));
  }

  /** Takes a last event without its blank line. */
  end(): void {
    this.#take(this.#parser.end());
  }

  #take(given: readonly SseEvent[]): void {
    for (const { data } of given) {
      if (this.model !== undefined && !data.includes('"usage"')) continue;
      const event = eventOf(data);
      this.usage = reportedUsage(event) ?? this.usage;
      this.model = textOf(event.model) ?? this.model;
      this.id ??= textOf(event.id);
    }
  }
}

function eventOf(data: string): Json {
  try {
    const event: unknown = JSON.parse(data);
    return isObject(event) ? event : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
