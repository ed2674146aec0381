/** For how long a request is remembered by its idempotency key. */
export const idempotency_ms = 24 * 3600 * 1000;

/** A request that is carried out once, however often and to whatever instance it is sent. */
export interface IdempotentRequest {
  /** Hash of its idempotency key and of who sends it. */
  readonly id: string;
  /** Hash of what it asks for. */
  readonly fingerprint: string;
}

/** A request that was carried out. */
export interface CarriedOut extends IdempotentRequest {
  /** What it has made or changed, as the audit log names it. */
  readonly target: string;
  /** Its answer, encrypted; null until it is kept. */
  readonly answer: string | null;
}

/**
 * The requests of the last 24 hours that had an idempotency key. Each is recorded in the transaction that carries it out, by the method that is
 * given it as `once` of its operator; a second one is refused there with RequestRepeated.
 */
export interface IdempotentRequests {
  /** The request of this id that was carried out less than 24 hours ago. */
  find(id: string, now_ms: number): Promise<CarriedOut | undefined>;
  /** Keeps the answer of a request that was carried out. */
  keep(id: string, answer: string): Promise<void>;
}
