/** A failure that is not repeated is forgotten after this, when the store answers: sooner than the minute for which an alert waits. */
const forget_ms = 45_000;

/**
 * Whether each operation of one store succeeds, shown as it changes. A success says nothing about other operations, since a store may be
 * readable and not writable. But a failed operation that nobody needs again would be shown for ever: it is forgotten once the store has
 * answered others for a while.
 */
export class StoreHealth<Operation extends string> {
  readonly #operations: readonly Operation[];
  readonly #show: (operation: Operation, up: boolean) => void;
  /** When each failing operation failed last, on `performance.now()`. */
  readonly #failed = new Map<Operation, number>();
  #isOut = false;

  constructor(operations: readonly Operation[], show: (operation: Operation, up: boolean) => void) {
    this.#operations = operations;
    this.#show = show;
    this.#showAll();
  }

  succeeded(operation: Operation, at_ms?: number): void {
    if (this.#failed.size === 0) return;
    const now_ms = at_ms ?? performance.now();
    for (const [failed, failed_ms] of this.#failed)
      if (failed === operation || now_ms - failed_ms >= forget_ms) {
        this.#failed.delete(failed);
        this.#showOne(failed);
      }
  }

  failed(operation: Operation, now_ms = performance.now()): void {
    this.#failed.set(operation, now_ms);
    this.#showOne(operation);
  }

  /** The circuit breaker has opened (true) or closed: while it is open no operation is tried. */
  out(isOut: boolean): void {
    this.#isOut = isOut;
    this.#showAll();
  }

  #showAll(): void {
    for (const operation of this.#operations) this.#showOne(operation);
  }

  #showOne(operation: Operation): void {
    this.#show(operation, !this.#isOut && !this.#failed.has(operation));
  }
}
