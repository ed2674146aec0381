import type { SharedTable } from './lease-protocol.ts';

/**
 * The store was not reached, or did not answer in time; the operation may have been done all the same. Errors with the same `cause` are one
 * incident, such as one silence in which many operations waited.
 */
export class Unreachable extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'Unreachable';
}

/** The store answered that it cannot work now (out of memory, read-only, loading …). Nothing was done. */
export class CannotServe extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'CannotServe';
}

/** The store works and refuses this command at every attempt: a key of another type, a script that fails. */
export class CommandRejected extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'CommandRejected';
}

/** A server of a remote store: the only one, or one of several that share the accounts. */
export interface RemoteServer {
  /** True once it has no accounts any more. */
  readonly isGone: boolean;
  /** Writes this instance's heartbeat, which counts for `lives_ms` and fails where nothing can be written. Resolves with the number of instances. */
  heartbeat(lives_ms: number): Promise<number>;
  /** Tells all instances that requests wait for what they do not use of an account. */
  ask?(account: string): Promise<void>;
  /** The accounts of which they were told since the last call; called several times a second while this instance holds something. */
  asked?(): Promise<readonly string[]>;
}

/** Limits that are counted in other processes. Every method may reject, at the latest after its time-out. */
export interface RemoteState extends SharedTable {
  /** The server that has an account at this moment; the same object while it does. */
  serverOf(account: string): RemoteServer;
  /** All that are known at this moment. */
  servers(): readonly RemoteServer[];
  /** Removes this instance from the store where possible, and ends the connections. */
  close(): Promise<void>;
}
