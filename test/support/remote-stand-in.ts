import type { Limit } from '../../src/gateway/limits/limit-table.ts';
import { LeaseTable } from '../../src/mount/state/leases/lease-table.ts';
import { type LeaseAnswer, type LeaseMessage, told_machine_times } from '../../src/records/lease-protocol.ts';
import type { RemoteServer, RemoteState } from '../../src/records/remote-state.ts';
import { FakeClock } from './fake-clock.ts';

/** A remote store that is down, fails or is slow as a test sets it. */
export class RemoteStandIn implements RemoteState, RemoteServer {
  isGone = false;
  instances = 1;
  /** The error with which every call rejects while it is set. */
  fault: Error | undefined;
  table = new LeaseTable(new FakeClock(), 'one', told_machine_times);
  /** The error with which messages reject that have been counted. */
  losesAnswers: Error | undefined;
  readonly #asked: string[] = [];
  #observed = 0;
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
    const answer = this.table.exchange(holder, message);
    if (this.losesAnswers) throw this.losesAnswers;
    return answer;
  }

  /** What the table counts under limits of an account. */
  used(account: string, limits: readonly Limit[]): number[] {
    const rows = limits.map(limit => ({ limit, used: 0, back: 0, block: 0, refunds: [] }));
    const message = { account, session: ++this.#observed, seq: 1, rows, wants: [] };
    const { as_of } = this.table.exchange('observer', message);
    const { counted } = this.table.exchange('observer', { ...message, as_of });
    return counted!.rows.map(({ used }) => used);
  }

  async ask(account: string): Promise<void> {
    this.#asked.push(account);
  }

  async asked(): Promise<readonly string[]> {
    return this.#asked;
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
