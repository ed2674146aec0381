import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../src/plugin.ts';
import { callerOf, type Person } from './access/roles.ts';
import { type LiveParts, patchesOf, type ShownParts } from './live-parts.ts';
import { beginCompressedEvents, PageError, type PageResponse } from './page-response.ts';

/** What a stream needs of the request of a page. */
interface LiveRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly session: Person;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the session is still valid. */
  readonly isOpen: () => Promise<boolean>;
  readonly context: { readonly log: Log };
}

/** What a page streams. */
export interface LiveSource {
  /** Pause between two questions. */
  readonly every_ms: number;
  /** The parts of the page as they are now; those that differ from what the page has are sent, piece by piece. */
  parts(): Promise<LiveParts>;
}

/** The field of the address with the last event that a page has; browsers that connect again by themselves send a header. */
const last_field = 'last-event';

const defaults = {
  /** Streams of all people together; each asks the stores again and again. */
  max_streams: 64,
  /** Streams of one person in all sessions, so that none takes those of the others. A browser opens six, for pages that are in sight only. */
  max_per_person: 8,
  /** Time without an event after which a comment shows that the stream is alive. */
  heartbeat_ms: 15_000,
  /** Time after which a reader that takes nothing is cut off. */
  stalled_ms: 15_000,
  /** Time after which a stream ends, so that its browser is let in anew. */
  max_ms: 300_000,
  /** Streams that have ended of which it is known what their pages have, for when they come back. */
  max_ended: 16,
};

interface OpenStream {
  readonly person: string;
  readonly ended: AbortController;
  readonly id: string;
  /** Events that were sent: the page has `shown` if it names the last of them. */
  events: number;
  readonly shown: ShownParts;
}

/**
 * Streams of server-sent events to open pages. Each ends with its session, its browser, `restart` or `close`, and leaves no timer; browsers connect
 * again by themselves.
 */
export class LiveStreams {
  readonly #options: typeof defaults;
  readonly #open = new Set<OpenStream>();
  readonly #ended = new Map<string, OpenStream>();
  #closed = false;

  constructor(options: Partial<typeof defaults> = {}) {
    this.#options = { ...defaults, ...options };
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Answers a request with a stream. Throws a PageError if there are too many. */
  async serve(request: LiveRequest, source: LiveSource): Promise<PageResponse | undefined> {
    const person = callerOf(request.session);
    const { max_streams, max_per_person } = this.#options;
    const own = [...this.#open].filter(stream => stream.person === person).length;
    if (this.#closed || this.#open.size >= max_streams || own >= max_per_person)
      throw new PageError(503, 'No more live figures now.', 'Close another page, or load this one again.', {
        'retry-after': '10',
      });
    if (request.incoming.method === 'HEAD') return { status: 200, headers: {}, body: '' };
    // The browser left while its session was looked for: its end would never be told.
    if (request.response.closed) return undefined;
    const shown = this.#takeShown(request, person);
    const id = randomBytes(9).toString('base64url');
    const stream: OpenStream = { person, ended: new AbortController(), id, events: 0, shown };
    this.#open.add(stream);
    request.response.once('close', () => stream.ended.abort());
    try {
      await this.#run(request, source, stream);
    } finally {
      this.#open.delete(stream);
      this.#keep(stream);
    }
    return undefined;
  }

  /** What the page has of the stream that it had before. */
  #takeShown({ incoming, query }: LiveRequest, person: string): ShownParts {
    const last = String(incoming.headers['last-event-id'] ?? query.get(last_field) ?? '');
    const [id = '', events] = last.split('.');
    const before = this.#ended.get(id);
    if (before?.person !== person || String(before.events) !== events) return new Map();
    this.#ended.delete(id);
    return before.shown;
  }

  #keep(stream: OpenStream): void {
    this.#ended.set(stream.id, stream);
    const [oldest = ''] = this.#ended.keys();
    if (this.#ended.size > this.#options.max_ended) this.#ended.delete(oldest);
  }

  /** Ends all streams, and refuses others. */
  close(): void {
    this.#closed = true;
    this.restart();
  }

  /** Ends all streams, so that their browsers are let in anew: who may read may have changed. */
  restart(): void {
    for (const { ended } of this.#open) ended.abort();
  }

  async #run(request: LiveRequest, source: LiveSource, stream: OpenStream): Promise<void> {
    const { signal } = stream.ended;
    const { response, isOpen, context, path } = request;
    const { heartbeat_ms, stalled_ms, max_ms } = this.#options;
    const began_ms = performance.now();
    const events = beginCompressedEvents(response);
    response.flushHeaders();
    let written_ms = began_ms;
    let hasFailed = false;
    const write = (text: string) => {
      written_ms = performance.now();
      events.write(text);
    };
    while (!signal.aborted && performance.now() - began_ms < max_ms) {
      const isStalled = events.writableNeedDrain;
      if (isStalled && performance.now() - written_ms >= stalled_ms) return void response.destroy();
      try {
        if (!(await isOpen())) {
          write('event: signed-out\ndata: \n\n');
          break;
        }
        const parts = isStalled ? {} : await source.parts();
        if (signal.aborted) break;
        const event = patchesOf(parts, stream.shown);
        if (event) write(`id: ${stream.id}.${++stream.events}\ndata: ${JSON.stringify(event)}\n\n`);
        else if (hasFailed) write('event: well\ndata: \n\n');
        else if (!isStalled && performance.now() - written_ms >= heartbeat_ms) write(': alive\n\n');
        hasFailed = false;
      } catch (thrown) {
        if (!hasFailed) context.log.warn({ err: thrown, path }, 'failed to update a live page');
        hasFailed = true;
        write('event: trouble\ndata: \n\n');
      }
      await sleep(source.every_ms, undefined, { signal, ref: false }).catch(() => {});
    }
    events.end();
  }
}
