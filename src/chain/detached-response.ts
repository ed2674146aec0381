import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * A response whose client has had its answer, while the handler behind the chain goes on: the handler must not see that it has ended,
 * because proxies cut their upstream then, and would not hand on its reply.
 */
export class DetachedResponse {
  readonly #response: ServerResponse;
  /** What the handler listens to. */
  readonly #events: EventEmitter;
  #isOn = false;
  #isOver = false;

  constructor(response: ServerResponse, events: EventEmitter) {
    this.#response = response;
    this.#events = events;
  }

  /** The response's own end no longer reaches the handler. */
  get isOn(): boolean {
    return this.#isOn;
  }

  begin(): void {
    this.#isOn = true;
  }

  /** To be called when the real response has closed: for the handler it is as if nothing had been sent. */
  revive(): void {
    if (this.#isOver) return;
    this.#response.statusCode = 200;
    this.#show({ destroyed: false, isEnded: false, isClosed: false });
  }

  /** The handler has ended its reply. */
  finish(): void {
    if (!this.#isOn || this.#isOver) return;
    this.#isOver = true;
    this.#show({ destroyed: false, isEnded: true, isClosed: false });
    process.nextTick(() => {
      this.#events.emit('finish');
      this.#closed();
    });
  }

  /** The handler has failed, or is to end. */
  close(): void {
    if (!this.#isOn || this.#isOver) return;
    this.#isOver = true;
    this.#show({ destroyed: true, isEnded: false, isClosed: false });
    process.nextTick(() => this.#closed());
  }

  #closed(): void {
    Object.defineProperty(this.#response, 'closed', { configurable: true, value: true });
    this.#events.emit('close');
  }

  /** Over the properties of the response that say how far it is. */
  #show(state: { destroyed: boolean; isEnded: boolean; isClosed: boolean }): void {
    const { destroyed, isEnded, isClosed } = state;
    const shown = {
      destroyed,
      closed: isClosed,
      finished: isEnded,
      writableEnded: isEnded,
      writableFinished: isEnded,
    };
    for (const [name, value] of Object.entries(shown))
      Object.defineProperty(this.#response, name, { configurable: true, writable: true, value });
  }
}
