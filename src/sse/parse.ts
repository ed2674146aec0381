import { createParser, type ParseError } from 'eventsource-parser';

/** An event as the wire had it; `event` is absent for the default type. */
export interface SseEvent {
  readonly data: string;
  readonly event?: string | undefined;
}

const errorField = 'error:';
const dataField = 'data: ';

/**
 * Text in any cut to events (protocol k3): LF, CRLF and CR, a byte order mark, comments, several data lines, a last event without its
 * blank line. An unknown field `error` becomes an event of that name, as older llama.cpp servers write it (protocol c4).
 */
export class SseParser {
  #events: SseEvent[] = [];
  #tooLarge = false;
  /** Nothing is pending: what has been fed ended with the blank line of an event. */
  #isClean = true;
  /**
   * The beginning of an `error` line: the parser forgets an unknown field whose line is cut, so it waits here for its rest. Only its first
   * characters may be looked at before the line has ended, or each piece would cost what came before it.
   */
  #held = '';
  /** The parser has been given whole lines only. */
  #atLineStart = true;
  readonly #max_event_bytes: number;
  readonly #parser;

  constructor(max_event_bytes: number) {
    this.#max_event_bytes = max_event_bytes;
    this.#parser = createParser({
      maxBufferSize: max_event_bytes,
      onEvent: event => this.#take(event),
      onError: error => this.#refuse(error),
    });
  }

  /** An event was larger than `max_event_bytes`. Those before it are given out; nothing comes after it. */
  get isOverfull(): boolean {
    return this.#tooLarge;
  }

  /** The events that `text` completes. */
  feed(text: string): SseEvent[] {
    if (this.#isClean && isOneEvent(text) && text.length <= this.#max_event_bytes) {
      return [{ data: text.slice(dataField.length, -2) }];
    }
    this.#events = [];
    if (this.#tooLarge) return this.#events;
    this.#parser.feed(this.#withoutCutError(text));
    this.#isClean = text.endsWith('\n\n') && !this.#tooLarge;
    return this.#events;
  }

  /** The event that the end of the stream left without its blank line, if there is one. */
  end(): SseEvent[] {
    return this.feed('\n\n');
  }

  #take(event: SseEvent): void {
    // The parser's own limit is for what it holds back; an event that came in one piece never was.
    if (event.data.length > this.#max_event_bytes) this.#tooLarge = true;
    else if (!this.#tooLarge) this.#events.push(event);
  }

  #withoutCutError(text: string): string {
    if (this.#held === '' && text.endsWith('\n')) {
      this.#atLineStart = true;
      return text;
    }
    if (this.#held.length > errorField.length && !/[\r\n]/.test(text)) {
      this.#hold(this.#held + text);
      return '';
    }
    const joined = this.#held + text;
    const start = Math.max(joined.lastIndexOf('\n'), joined.lastIndexOf('\r')) + 1;
    const last = joined.slice(start);
    const bare = last.startsWith('\uFEFF') ? last.slice(1) : last;
    const waits =
      (start > 0 || this.#atLineStart) && (errorField.startsWith(bare) || bare.startsWith(errorField));
    this.#hold(waits ? last : '');
    if (joined !== '') this.#atLineStart = waits;
    return waits ? joined.slice(0, start) : joined;
  }

  #hold(line: string): void {
    this.#held = line;
    if (line.length > this.#max_event_bytes) this.#tooLarge = true;
  }

  #refuse(error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') this.#tooLarge = true;
    else if (error.type === 'unknown-field' && error.field === 'error') {
      this.#events.push({ event: 'error', data: error.value ?? '' });
    }
  }
}

/** What servers nearly always send at a time: one event of one data line. It needs no parser, which saves a tenth of a stream's CPU. */
function isOneEvent(text: string): boolean {
  return (
    text.startsWith(dataField) &&
    text.endsWith('\n\n') &&
    text.indexOf('\n') === text.length - 2 &&
    !text.includes('\r')
  );
}
