import { createParser, type ParseError } from 'eventsource-parser';

/** An event as the wire had it; `event` is absent for the default type. */
export interface SseEvent {
  readonly data: string;
  readonly event?: string | undefined;
}

/** Thrown by `feed` and `end` when an event is larger than `max_event_bytes`. */
export class EventTooLarge extends Error {}

/**
 * Text in any cut to events (protocol k3): LF, CRLF and CR, a byte order mark, comments, several data lines, a last event without its
 * blank line. An unknown field `error` becomes an event of that name, as older llama.cpp servers write it (protocol c4).
 */
export class SseParser {
  #events: SseEvent[] = [];
  #tooLarge = false;
  readonly #parser;

  constructor(max_event_bytes: number) {
    this.#parser = createParser({
      maxBufferSize: max_event_bytes,
      onEvent: event => this.#events.push(event),
      onError: error => this.#refuse(error),
    });
  }

  /** The events that `text` completes. */
  feed(text: string): SseEvent[] {
    this.#events = [];
    this.#parser.feed(text);
    if (this.#tooLarge) throw new EventTooLarge('an event exceeds the configured size');
    return this.#events;
  }

  /** The event that the end of the stream left without its blank line, if there is one. */
  end(): SseEvent[] {
    return this.feed('\n\n');
  }

  #refuse(error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') this.#tooLarge = true;
    else if (error.type === 'unknown-field' && error.field === 'error') {
      this.#events.push({ event: 'error', data: error.value ?? '' });
    }
  }
}
