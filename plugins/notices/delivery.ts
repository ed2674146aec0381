import type { NewNotice } from '../../src/plugin.ts';

/** A notice as it is delivered. */
export type Notice = NewNotice;

/** An attempt that has failed. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed';
  /** Another attempt would fail as well. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false, options?: ErrorOptions) {
    super(message, options);
    this.isFinal = isFinal;
  }
}
