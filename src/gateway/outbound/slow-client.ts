import type { Exchange } from '../exchange/exchange.ts';
import type { ReplySink } from './reply-sink.ts';

/** Timers fire up to a millisecond early. */
const timer_slack_ms = 2;

/** Callbacks for a client that has read on, and for the end of its reply: read completely, or closed. */
export interface ClientWatcher {
  onDrained(): void;
  onOver(): void;
}

/**
 * Watches the client of a reply that is written part by part. A large reply waits after nearly every part, so waiting allocates nothing:
 * the listeners stay, and the timer keeps running and checks when it fires.
 */
export class ClientWatch {
  readonly #exchange: Exchange;
  readonly #response: ReplySink;
  readonly #slow_client_ms: number;
  readonly #watcher: ClientWatcher;
  #waiting_since_ms: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(exchange: Exchange, response: ReplySink, slow_client_ms: number, watcher: ClientWatcher) {
    this.#exchange = exchange;
    this.#response = response;
    this.#slow_client_ms = slow_client_ms;
    this.#watcher = watcher;
    response.on('drain', this.#drained).on('finish', watcher.onOver).on('close', watcher.onOver);
  }

  /** Waits until what was written is read; cuts off a client that takes too long. */
  wait(): void {
    this.#waiting_since_ms = this.#exchange.clock.elapsed_ms();
    this.#timer ??= setTimeout(this.#look, this.#slow_client_ms);
  }

  end(): void {
    clearTimeout(this.#timer);
    const { onOver } = this.#watcher;
    this.#response.off('drain', this.#drained).off('finish', onOver).off('close', onOver);
  }

  readonly #drained = () => {
    this.#waiting_since_ms = undefined;
    this.#watcher.onDrained();
  };

  readonly #look = () => {
    this.#timer = undefined;
    if (this.#waiting_since_ms === undefined) return;
    const left_ms = this.#waiting_since_ms + this.#slow_client_ms - this.#exchange.clock.elapsed_ms();
    if (left_ms > timer_slack_ms) this.#timer = setTimeout(this.#look, left_ms);
    else cutSlow(this.#exchange, this.#response);
  };
}

/**
 * Resolves when the client has read what was written (`drain`) or the whole reply (`finish`), or has left. Cuts off a client that reads
 * nothing for `slow_client_ms`; for `Infinity` never, since an outer chain does. An abort of the exchange ends the wait for `drain` only.
 */
export function untilRead(
  exchange: Exchange,
  response: ReplySink,
  event: 'drain' | 'finish',
  slow_client_ms: number,
): Promise<void> {
  return new Promise(resolve => {
    const mayCut = slow_client_ms < Infinity;
    const cut = mayCut ? setTimeout(() => cutSlow(exchange, response), slow_client_ms) : undefined;
    const done = () => {
      clearTimeout(cut);
      exchange.offAbort(done);
      response.off(event, done).off('close', done);
      resolve();
    };
    if (event === 'drain') exchange.onAbort(done);
    response.on(event, done).on('close', done);
  });
}

function cutSlow(exchange: Exchange, response: ReplySink): void {
  exchange.end.causedBy('slow_client');
  // At a shutdown, the client may still read what the system has taken.
  if (exchange.end_reason === 'shutdown') response.destroy();
  else cutOff(response);
}

/**
 * Resets the connection of a client that does not read. After a normal close the system would keep the megabytes that it has taken for as
 * long as that client answers.
 */
export function cutOff(response: ReplySink): void {
  try {
    response.socket?.resetAndDestroy();
  } catch {
    // TLS and pipes have no reset.
  }
  response.destroy();
}
