import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { DashboardVisitor } from './dashboard-visitor.ts';

/** A stream of the dashboard that is read as it comes. */
export interface LiveEvents {
  readonly status: number;
  readonly headers: Headers;
  /** The next event; undefined once the stream has ended. */
  next(): Promise<EventSourceMessage | undefined>;
  /** Leaves, as a browser does that closes its page. */
  leave(): void;
}

/** Opens a stream as a page's script does, with the visitor's cookies. */
export async function liveEvents({ base, cookie }: DashboardVisitor, page: string): Promise<LiveEvents> {
  const leaving = new AbortController();
  const response = await fetch(base + page, {
    headers: { cookie, 'sec-fetch-dest': 'empty' },
    signal: leaving.signal,
  });
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: event => void events.push(event) });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  return {
    status: response.status,
    headers: response.headers,
    async next() {
      while (events.length === 0) {
        const { done, value } = await reader.read();
        if (done) return undefined;
        parser.feed(value);
      }
      return events.shift();
    },
    leave: () => leaving.abort(),
  };
}
