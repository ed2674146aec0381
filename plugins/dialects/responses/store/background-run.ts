import { doneEvent, keepAliveComment } from '../../../../src/plugin.ts';

const keepalive_ms = 15_000;
const ending_ms = 1000;

interface NumberedEvent {
  readonly number: number;
  readonly text: string;
}

/** A response that is generated without its client, and the events of it that are kept for clients that follow it. */
export class BackgroundRun {
  readonly id: string;
  readonly account: string;
  /** JSON of the response as it is now. */
  response: string;
  readonly #max_bytes: number;
  readonly #stop: (why: 'client_gone' | 'time_limit') => void;
  readonly #timer: NodeJS.Timeout;
  #events: NumberedEvent[] = [];
  #kept_bytes = 0;
  /** An event that has not come whole. */
  #partial = '';
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  constructor(
    start: Pick<BackgroundRun, 'id' | 'account' | 'response'>,
    limits: { readonly timeout_ms: number; readonly max_bytes: number },
    stop: (why: 'client_gone' | 'time_limit') => void,
  ) {
    this.id = start.id;
    this.account = start.account;
    this.response = start.response;
    this.#max_bytes = limits.max_bytes;
    this.#stop = stop;
    this.#timer = setTimeout(() => stop('time_limit'), limits.timeout_ms).unref();
  }

  /** True once nothing more will come. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Takes the text of events as they are generated. */
  take(text: string): void {
    const events = (this.#partial + text).split('\n\n');
    this.#partial = events.pop()!;
    for (const event of events) {
      const number = /"sequence_number":(\d+)/.exec(event)?.[1];
      if (number !== undefined) this.#add({ number: Number(number), text: `${event}\n\n` });
    }
    this.#tell();
  }

  #add(event: NumberedEvent): void {
    this.#events.push(event);
    this.#kept_bytes += event.text.length;
    while (this.#kept_bytes > this.#max_bytes && this.#events.length > 1)
      this.#kept_bytes -= this.#events.shift()!.text.length;
  }

  /** Ends it with the response as it is now. */
  end(): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
    this.#tell();
  }

  /** Ends it, and the work for it, with this response. */
  cancel(response: string): void {
    this.response = response;
    this.end();
    this.#stop('client_gone');
  }

  /** The events behind number `after` as they come, and the end of the stream. */
  async *follow(after: number, signal?: AbortSignal): AsyncGenerator<string> {
    let last = after;
    for (;;) {
      const changed = this.#changed.promise;
      const text = this.#textAfter(last);
      last = Math.max(last, this.#events.at(-1)?.number ?? -1);
      if (text !== '') yield text;
      else if (this.#isOver) break;
      else if (signal?.aborted) {
        // At a shutdown the response ends as well, and its last event is a moment away.
        if (!(await waited(changed, ending_ms))) break;
      } else if (!(await waited(changed, keepalive_ms, signal))) yield keepAliveComment;
    }
    yield doneEvent;
  }

  #textAfter(last: number): string {
    const newest = this.#events.at(-1)?.number ?? -1;
    const count = Math.min(Math.max(newest - last, 0), this.#events.length);
    return count === 0
      ? ''
      : this.#events
          .slice(-count)
          .map(({ text }) => text)
          .join('');
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Waits for a change or the abort of `signal`; false after `limit_ms`. */
function waited(changed: Promise<void>, limit_ms: number, signal?: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, limit_ms, false);
  const done = () => resolve(true);
  signal?.addEventListener('abort', done);
  void changed.then(done);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', done);
  });
}
