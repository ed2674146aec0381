import { StringDecoder } from 'node:string_decoder';
import { isObject, type Json } from '../../common/json-object.ts';
import type { Usage } from '../../gateway/exchange/canonical.ts';
import { type SseEvent, SseParser } from '../../gateway/sse/parse.ts';
import { JsonMembers } from './json-members.ts';
import { HeldText, TextTally } from './reply-text.ts';
import { countNames, reportedUsage } from './reported-usage.ts';
import { bytes_per_token } from './request-meter.ts';

/** Bytes of the usage and of the model's name, and of an event. */
const max_value_bytes = 16 * 1024;
const max_event_bytes = 1024 * 1024;

/** Reads the usage of a reply in one format. */
export interface UsageReader {
  /** Takes the next bytes of the reply. */
  write(part: Buffer): void;
  /** Ends a reply that is complete. */
  end?(): void;
  /** Undefined as long as there is none that counts. */
  readonly usage: Usage | undefined;
  /** Estimated tokens of the text that `usage` does not cover. */
  readonly text_tokens: number;
  /** The model that the reply names. */
  readonly model?: string | undefined;
  /** The id that the reply has. */
  readonly id?: string | undefined;
}

/** Usage in a JSON object. Counts only once the object has ended: an upstream that broke off is not paid. */
export class JsonUsage implements UsageReader {
  readonly #members = new JsonMembers(['usage', 'meta', 'model', 'id', ...countNames], max_value_bytes);
  readonly #text: HeldText | undefined;

  constructor(generates: boolean) {
    this.#text = generates ? new HeldText() : undefined;
  }

  write(part: Buffer): void {
    this.#members.write(part);
    this.#text?.write(part);
  }

  get usage(): Usage | undefined {
    if (!this.#members.isComplete) return undefined;
    const names = ['usage', 'meta', ...countNames];
    return reportedUsage(Object.fromEntries(names.map(name => [name, this.#members.get(name)])));
  }

  get text_tokens(): number {
    const { usage } = this;
    if (!this.#text || (usage && usage.completion_tokens > 0)) return 0;
    // A prompt without a completion is believed of a reply without known text, such as that of an embedder.
    return usage && usage.prompt_tokens > 0 ? this.#text.known_tokens : this.#text.tokens;
  }

  get model(): string | undefined {
    return textOf(this.#members.get('model'));
  }

  get id(): string | undefined {
    return textOf(this.#members.get('id'));
  }
}

/** Text without usage. */
export class PlainText implements UsageReader {
  readonly usage = undefined;
  readonly #text = new HeldText();

  write(part: Buffer): void {
    this.#text.write(part);
  }

  get text_tokens(): number {
    return this.#text.tokens;
  }
}

/** What cuts a text into its events. */
type Splitter = Pick<SseParser, 'feed' | 'end' | 'isOverfull'>;

/** The last usage in a stream of events, whose figures are cumulative. */
export class EventUsage implements UsageReader {
  usage: Usage | undefined;
  model: string | undefined;
  id: string | undefined;
  readonly #text: TextTally | undefined;
  readonly #splitter: Splitter;
  readonly #decoder = new StringDecoder('utf8');
  /** Text tokens that the usage covers. */
  #covered = 0;
  #unread_bytes = 0;

  /** `isLines`: each line is an event, as in NDJSON. */
  constructor(generates: boolean, isLines: boolean) {
    this.#text = generates ? new TextTally() : undefined;
    this.#splitter = isLines ? new Lines(max_event_bytes) : new SseParser(max_event_bytes);
  }

  write(part: Buffer): void {
    this.#take(this.#splitter.feed(this.#decoder.write(part)));
    if (this.#splitter.isOverfull) this.#unread_bytes += part.length;
  }

  /** Takes a last event without its blank line. */
  end(): void {
    this.#take(this.#splitter.end());
  }

  get text_tokens(): number {
    if (!this.#text) return 0;
    const { tokens, events } = this.#text;
    // Events of an unknown format have a token each, as most have.
    const rest = tokens === 0 && !this.usage ? events : tokens - this.#covered;
    return rest + Math.ceil(this.#unread_bytes / bytes_per_token);
  }

  #take(given: readonly SseEvent[]): void {
    for (const { data } of given) {
      const event = eventOf(data);
      if (!event) continue;
      this.#text?.add(event);
      this.model = textOf(event.model) ?? this.model;
      this.id ??= textOf(event.id);
      const usage = reportedUsage(event, this.usage);
      if (!usage) continue;
      this.usage = usage;
      // An upstream that counts 0 has not counted.
      if (this.#text && usage.completion_tokens > 0) this.#covered = this.#text.tokens;
    }
  }
}

/** Cuts a text into its lines. */
class Lines implements Splitter {
  isOverfull = false;
  readonly #max_characters: number;
  #rest = '';

  constructor(max_characters: number) {
    this.#max_characters = max_characters;
  }

  feed(text: string): SseEvent[] {
    if (this.isOverfull) return [];
    const lines = text.split('\n');
    const last = lines.pop()!;
    if (lines.length > 0) {
      lines[0] = this.#rest + lines[0];
      this.#rest = last;
    } else this.#rest += last;
    this.isOverfull = this.#rest.length > this.#max_characters;
    return lines.map(data => ({ data }));
  }

  end(): SseEvent[] {
    return this.feed('\n');
  }
}

function eventOf(data: string): Json | undefined {
  if (!data.startsWith('{')) return undefined;
  try {
    const event: unknown = JSON.parse(data);
    return isObject(event) ? event : undefined;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
