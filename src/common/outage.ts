/** Since when a store has not answered, and why. */
export interface Outage {
  readonly since_epoch_ms: number;
  readonly cause: unknown;
}
