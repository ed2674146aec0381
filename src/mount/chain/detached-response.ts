import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * A response whose client has had its answer while the handler behind the chain goes on. The handler must not see that it has ended, or
 * proxies would cut their upstream and stop passing on its reply.
 */
export class DetachedResponse {
  readonly #response: ServerResponse;
  /** Events for the handler. */
  readonly #events: EventEmitter;
  #isOn = false;
  #isOver = false;

  constructor(response: ServerResponse, events: EventEmitter) {
    this.#response = response;
    this.#events = events;
  }

  /** True once the response's own end no longer reaches the handler. */
  get isOn(): boolean {
    return this.#isOn;
  }

  begin(): void {
    this.#isOn = true;
  }

  /** Call it when the real response has closed: to the handler it appears as if nothing had been sent. */
  revive(): void {
    if (this.#isOver) return;
    this.#response.statusCode = 200;
    this.#show({ destroyed: false, isEnded: false });
  }

  /** Shows the handler that its reply has ended. */
  finish(): void {
    this.#leave({ destroyed: false, isEnded: true });
  }

  /** Shows the handler a closed response, because it has failed or is to end. */
  close(): void {
    this.#leave({ destroyed: true, isEnded: false });
  }

  #leave(state: { destroyed: boolean; isEnded: boolean }): void {
    if (!this.#isOn || this.#isOver) return;
    this.#isOver = true;
    this.#show(state);
    process.nextTick(() => {
      if (state.isEnded) this.#events.emit('finish');
      Object.defineProperty(this.#response, 'closed', { configurable: true, value: true });
      this.#events.emit('close');
    });
  }

  /** Overrides the response's state properties. */
  #show({ destroyed, isEnded }: { destroyed: boolean; isEnded: boolean }): void {
    const ended = { finished: isEnded, writableEnded: isEnded, writableFinished: isEnded };
    for (const [name, value] of Object.entries({ destroyed, closed: false, ...ended }))
      Object.defineProperty(this.#response, name, { configurable: true, writable: true, value });
  }
}
