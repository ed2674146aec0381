import { LeaseTable } from '../../src/mount/state/leases/lease-table.ts';
import { type LeaseAnswer, type LeaseMessage, machine_times } from '../../src/records/lease-protocol.ts';
import type { RemoteServer, RemoteState } from '../../src/records/remote-state.ts';
import { FakeClock } from './fake-clock.ts';

/** A remote store that is down, fails or is slow as a test sets it. */
export class RemoteStandIn implements RemoteState, RemoteServer {
  isGone = false;
  instances = 1;
  /** The error with which every call rejects while it is set. */
  fault: Error | undefined;
  table = new LeaseTable(new FakeClock(), 'one', machine_times);
  /** What came. */
  readonly messages: LeaseMessage[] = [];
  pulses = 0;
  closed = false;
  /** Answers wait for this. */
  slow: Promise<void> | undefined;

  serverOf(): RemoteServer {
    return this;
  }

  servers(): readonly RemoteServer[] {
    return [this];
  }

  async exchange(holder: string, message: LeaseMessage): Promise<LeaseAnswer> {
    await this.slow;
    this.#check();
    this.messages.push(message);
    return this.table.exchange(holder, message);
  }

  async heartbeat(): Promise<number> {
    this.pulses++;
    this.#check();
    return this.instances;
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  #check(): void {
    if (this.fault) throw this.fault;
  }
}
