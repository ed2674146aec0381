import type { Exchange } from '../exchange.ts';
import type { ReplySink } from './reply-sink.ts';

/** Timers fire up to a millisecond early. */
const timer_slack_ms = 2;

/** What is called back when a client has read on, and when its reply is over: read to its end, or closed. */
export interface ClientWatcher {
  onDrained(): void;
  onOver(): void;
}

/**
 * The client of a reply that is passed on part by part. A large one is waited for after nearly every part, so waiting makes nothing anew:
 * the listeners stay, and the timer runs on and looks when it fires since when is waited.
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

  /** What has been written is not read yet: cuts the client off when it has not been for too long. */
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

/** Waits until the client has read on, has left, or has read nothing for `slow_client_ms` and is cut off. */
export function untilDrained(exchange: Exchange, response: ReplySink, slow_client_ms: number): Promise<void> {
  return new Promise(resolve => {
    const cut = setTimeout(() => cutSlow(exchange, response), slow_client_ms);
    const done = () => {
      clearTimeout(cut);
      exchange.offAbort(done);
      response.off('drain', done).off('close', done);
      resolve();
    };
    exchange.onAbort(done);
    response.on('drain', done).on('close', done);
  });
}

/** Resolves when the client has read all of the reply or has left; a client that reads nothing for `slow_client_ms` is cut off. */
export function untilFinished(
  exchange: Exchange,
  response: ReplySink,
  slow_client_ms: number,
): Promise<void> {
  return new Promise(resolve => {
    const cut = setTimeout(() => cutSlow(exchange, response), slow_client_ms);
    const done = () => {
      clearTimeout(cut);
      response.off('finish', done).off('close', done);
      resolve();
    };
    response.on('finish', done).on('close', done);
  });
}

function cutSlow(exchange: Exchange, response: ReplySink): void {
  exchange.end.causedBy('slow_client');
  // When the process ends, what the system has taken may still be read.
  if (exchange.end_reason === 'shutdown') response.destroy();
  else cutOff(response);
}

/**
 * Ends the connection of a client that does not read. Closed in order it would live on: the system keeps the megabytes that it has taken
 * for as long as that client answers.
 */
export function cutOff(response: ReplySink): void {
  try {
    response.socket?.resetAndDestroy();
  } catch {
    // TLS and pipes know no reset.
  }
  response.destroy();
}
