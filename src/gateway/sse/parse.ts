import { createParser, type EventSourceParser } from 'eventsource-parser';

/** An event as it was on the wire; `event` is absent for the default type. */
export interface SseEvent {
  /** Its lines of data, joined by line feeds. */
  readonly data: string;
  /** Its type; absent if it has none. */
  readonly event?: string | undefined;
}

const dataField = 'data: ';
/** An `error` field, which the standard does not have. */
const errorField = /(?<=[\r\n])error(?=[:\r\n])/g;
/** The beginning of a line that may become an `error` field. */
const cutErrorField = /(?<=[\r\n])(?:error|erro|err|er|e)$/;
const byteOrderMark = '\uFEFF';

/**
 * Parses text, cut anywhere, to events: LF, CRLF and CR, one byte order mark at the beginning, comments, several data lines, a last event
 * without its blank line. A field `error`, as older llama.cpp servers write it, is read as an event of that name.
 */
export class SseParser {
  #events: SseEvent[] = [];
  /** True once an event was larger than `max_event_bytes`. The events before it are returned, none after it. */
  isOverfull = false;
  /** True if nothing is pending: the text so far ended with the blank line of an event. */
  #isClean = true;
  /** True once there was a character; a byte order mark that comes first is dropped. */
  #hasBegun = false;
  /** Text that waits for the rest of its field name. */
  #held = '';
  #atLineStart = true;
  readonly #max_event_bytes: number;
  /** Made with the first text that is more than one event. */
  #parser: EventSourceParser | undefined;

  constructor(max_event_bytes: number) {
    this.#max_event_bytes = max_event_bytes;
  }

  /** The events that `given` completes. */
  feed(given: string): SseEvent[] {
    const text = this.#hasBegun ? given : this.#begin(given);
    if (this.#isClean && isOneEvent(text) && text.length <= this.#max_event_bytes) {
      return [{ data: text.slice(dataField.length, -2) }];
    }
    this.#events = [];
    if (this.isOverfull) return this.#events;
    this.#parser ??= this.#create();
    this.#parser.feed(this.#withErrorEvents(text));
    this.#isClean = text.endsWith('\n\n') && !this.isOverfull;
    return this.#events;
  }

  /** The last event, if the stream ended without its blank line. */
  end(): SseEvent[] {
    return this.feed('\n\n');
  }

  #create(): EventSourceParser {
    const parser = createParser({
      maxBufferSize: this.#max_event_bytes,
      onEvent: event => this.#take(event),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') this.isOverfull = true;
      },
    });
    // It drops a mark before the first text that it gets, which need not be the first of the stream.
    parser.feed('\n');
    return parser;
  }

  #begin(text: string): string {
    this.#hasBegun = text !== '';
    return text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;
  }

  #take(event: SseEvent): void {
    // The parser's own limit is for incomplete events only.
    if (event.data.length > this.#max_event_bytes) this.isOverfull = true;
    else if (!this.isOverfull) this.#events.push(event);
  }

  /** The text with `error` fields as events of that name, without a line that is cut within such a name. */
  #withErrorEvents(text: string): string {
    if (this.#held === '' && text.endsWith('\n') && !text.includes('error')) {
      this.#atLineStart = true;
      return text;
    }
    // The patterns need a line end before the first line.
    const mark = this.#atLineStart ? '\n' : '';
    const given = mark + this.#held + text;
    this.#held = cutErrorField.exec(given)?.[0] ?? '';
    const ready = given.slice(0, given.length - this.#held.length);
    this.#atLineStart = ready.endsWith('\n') || ready.endsWith('\r');
    return ready.replace(errorField, 'event: error\ndata').slice(mark.length);
  }
}

/**
 * Whether `text` is what servers nearly always send at a time: one event of one data line. It needs no parser, which saves a tenth of a
 * stream's CPU.
 */
function isOneEvent(text: string): boolean {
  return (
    text.startsWith(dataField) &&
    text.endsWith('\n\n') &&
    text.indexOf('\n') === text.length - 2 &&
    !text.includes('\r')
  );
}
