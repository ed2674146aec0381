/** A failure that is not repeated is forgotten after this: sooner than the minute for which an alert waits. */
const default_forget_ms = 45_000;

/**
 * Whether each operation of one store succeeds, shown as it changes. A success says nothing about other operations, since a store may be
 * readable and not writable. But a failed operation that nobody needs again would be shown for ever, so it is forgotten after a while.
 */
export class StoreHealth<Operation extends string> {
  readonly #operations: readonly Operation[];
  readonly #show: (operation: Operation, up: boolean) => void;
  readonly #forget_ms: number;
  /** Failing operations, each with the timer that forgets it. */
  readonly #failed = new Map<Operation, NodeJS.Timeout>();
  #isOut = false;
  #isEnded = false;

  constructor(
    operations: readonly Operation[],
    show: (operation: Operation, up: boolean) => void,
    forget_ms = default_forget_ms,
  ) {
    this.#operations = operations;
    this.#show = show;
    this.#forget_ms = forget_ms;
    this.#showAll();
  }

  /** Notes that an operation has succeeded. */
  succeeded(operation: Operation): void {
    if (this.#failed.size === 0) return;
    clearTimeout(this.#failed.get(operation));
    this.#forget(operation);
  }

  /** Notes that an operation has failed. */
  failed(operation: Operation): void {
    if (this.#isEnded) return;
    const timer = this.#failed.get(operation);
    if (timer) return void timer.refresh();
    const forget = setTimeout(() => this.#forget(operation), this.#forget_ms).unref();
    this.#failed.set(operation, forget);
    this.#showOne(operation);
  }

  /** The circuit breaker has opened (true) or closed: while it is open no operation is tried. */
  out(isOut: boolean): void {
    if (this.#isEnded) return;
    this.#isOut = isOut;
    this.#showAll();
  }

  /** Shows nothing as failing any more, and no later failure either. */
  end(): void {
    for (const timer of this.#failed.values()) clearTimeout(timer);
    this.#failed.clear();
    this.out(false);
    this.#isEnded = true;
  }

  #forget(operation: Operation): void {
    if (this.#failed.delete(operation)) this.#showOne(operation);
  }

  #showAll(): void {
    for (const operation of this.#operations) this.#showOne(operation);
  }

  #showOne(operation: Operation): void {
    this.#show(operation, !this.#isOut && !this.#failed.has(operation));
  }
}
