import { setTimeout as after } from 'node:timers/promises';
import { Client, Pool } from 'undici';
import { chatBody, requestHeaders } from './conversation.ts';
import { events_per_second } from './measurement.ts';
import { replyTo, requestOf } from './request-load.ts';
import { readStream } from './stream-load.ts';

const connections = 64;
/** The lengths of streams, one after the other. */
const stream_seconds = [2, 5, 8, 13, 30] as const;
/** Every so many requests one is refused: for a key that nobody has, another one each time, or for a body that is not valid. */
const refused_every = 25;
/** Every so many streams a client leaves in the middle. */
const left_every = 10;

/** Requests at a constant rate, however slowly they are answered, and streams of which so many are open at any time. */
export class SoakLoad {
  replies = 0;
  streams = 0;
  /** What went wrong, and how often. */
  readonly faults = new Map<string, number>();
  readonly #origin: string;
  readonly #per_second: number;
  readonly #pool: Pool;
  readonly #began_ms = performance.now();
  readonly #timer: NodeJS.Timeout;
  readonly #running = new Set<Promise<void>>();
  #sent = 0;
  #hasEnded = false;

  constructor(origin: string, requests_per_second: number, streams: number) {
    this.#origin = origin;
    this.#per_second = requests_per_second;
    this.#pool = new Pool(origin, { connections });
    this.#timer = setInterval(() => this.#catchUp(), 5);
    for (let at = 0; at < streams; at++) this.#keep(this.#streamOn(at));
  }

  /** Sends no more. Resolves when all has been answered. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    this.#hasEnded = true;
    await Promise.all(this.#running);
    await this.#pool.close();
  }

  #keep(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #catchUp(): void {
    const due = ((performance.now() - this.#began_ms) / 1000) * this.#per_second;
    for (; this.#sent < due; this.#sent++) this.#keep(this.#send(this.#sent));
  }

  async #send(number: number): Promise<void> {
    const [request, status] = requestNumber(number);
    try {
      await replyTo(this.#pool, request, status);
      this.replies++;
    } catch (fault) {
      this.#fault((fault as Error).message);
    }
  }

  /** One stream after the other. */
  async #streamOn(place: number): Promise<void> {
    for (let number = place; !this.#hasEnded; number++) {
      const fault = await this.#readStream(
        stream_seconds[number % stream_seconds.length]! * events_per_second,
        number % left_every === 0,
      );
      if (fault !== undefined) this.#fault(fault);
      this.streams++;
    }
  }

  /** Resolves with what was wrong. */
  async #readStream(max_tokens: number, isLeft: boolean): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const client = new Client(this.#origin, { bodyTimeout: 0 });
    const load = {
      requestOf: () => requestOf('chat', {}, chatBody({ max_tokens })),
      // On a busy machine more: comments keep a silent connection open.
      isWhole: (events: number) => events >= max_tokens + 3,
      onEnd: (_: number, fault?: string) => resolve(fault),
    };
    readStream(client, load, 0, { events: 0, ended: 0, fault: undefined, gaps_ms: undefined });
    const left = isLeft && after(500 * (max_tokens / events_per_second));
    await (left || promise);
    await client.destroy();
    return isLeft ? undefined : promise;
  }

  #fault(text: string): void {
    this.faults.set(text, (this.faults.get(text) ?? 0) + 1);
  }
}

/** A request, and the status of its reply. */
function requestNumber(number: number) {
  if (number % refused_every !== 0) return [requestOf('chat', {}), 200] as const;
  if (number % (2 * refused_every) !== 0) return [requestOf('chat', {}, '{"messages":[]}'), 400] as const;
  const key = `sk-nobody-${String(number).padStart(32, '0')}`;
  return [
    { ...requestOf('chat', {}), headers: { ...requestHeaders, authorization: `Bearer ${key}` } },
    401,
  ] as const;
}
