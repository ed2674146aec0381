import type { Clock } from '../../common/clock.ts';
import type { Limit } from '../../gateway/limits/limit-table.ts';
import { type LeaseAnswer, type LeaseMessage, process_times } from '../../records/lease-protocol.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Channel, ChannelUnavailable } from '../workers/channel.ts';
import type { Workers } from '../workers/workers.ts';
import { LeasedStateStore } from './leased-state-store.ts';
import { LeaseTable } from './leases/lease-table.ts';
import { PastRestorer, type PastUseSource } from './past-restorer.ts';
import { type LeaseExchange, PrimaryLeases } from './primary-leases.ts';

/** A process that holds blocks of limits. */
interface Holder {
  readonly exchange: LeaseExchange;
  /** Its concurrency is free from now on; blocks that it had count as used. */
  end(): void;
}

export interface SharedLeasesSetup {
  readonly clock: Clock;
  readonly log: Log;
  /** Initial values of counters. */
  readonly past?: PastUseSource | undefined;
}

/** Counts the limits of the primary process and of its workers. */
export class SharedLeases {
  readonly #table: LeaseTable;
  readonly #past: PastRestorer | undefined;
  /** What tells each that another one waits for what it does not use of an account. */
  readonly #askBack = new Map<string, (account: string) => void>();
  #begun = 0;

  constructor({ past, ...setup }: SharedLeasesSetup) {
    this.#table = new LeaseTable(setup.clock, 'primary', process_times);
    this.#past = past && new PastRestorer(this.#table, { past, ...setup });
  }

  /** Begins to count for a process. */
  begin(askBack: (account: string) => void): Holder {
    const holder = `${++this.#begun}`;
    this.#askBack.set(holder, askBack);
    return {
      exchange: message => this.#exchange(holder, message),
      end: () => {
        this.#askBack.delete(holder);
        this.#table.end(holder);
      },
    };
  }

  /** Begins to count for a worker, until its channel closes. */
  serve(channel: Channel): void {
    const { exchange, end } = this.begin(account => channel.notify('state.asked', account));
    const handle = (text: unknown) => {
      const answer = exchange(JSON.parse(text as string));
      return answer instanceof Promise ? answer.then(toText) : toText(answer);
    };
    channel.handle('state.exchange', handle).onClosed(end);
  }

  #exchange(holder: string, message: LeaseMessage): LeaseAnswer | Promise<LeaseAnswer> {
    const { account, rows } = message;
    const answer = () => this.#answer(holder, message);
    return this.#past ? this.#past.restored(account, rows.map(limitOf), answer) : answer();
  }

  #answer(holder: string, message: LeaseMessage): LeaseAnswer {
    // It waited for the ledger.
    if (!this.#askBack.has(holder)) throw new ChannelUnavailable('the other process has ended');
    const answer = this.#table.exchange(holder, message);
    for (const [other, account] of this.#table.takeAsked()) this.#askBack.get(other)?.(account);
    return answer;
  }
}

const toText = (answer: LeaseAnswer): string => JSON.stringify(answer);
const limitOf = ({ limit }: { readonly limit: Limit }): Limit => limit;

/** The state store of the primary process, which counts for its workers as well. */
export function openSharedState(workers: Workers, setup: SharedLeasesSetup): LeasedStateStore {
  const leases = new SharedLeases(setup);
  workers.serve(channel => leases.serve(channel));
  const { exchange } = leases.begin(account => store.askBack(account));
  const store = new LeasedStateStore(new PrimaryLeases(exchange, setup), setup.clock);
  return store;
}

/** The state store of a worker. */
export function openWorkerState(primary: Channel, setup: Omit<SharedLeasesSetup, 'past'>): LeasedStateStore {
  const ask: LeaseExchange = async message =>
    JSON.parse((await primary.request('state.exchange', JSON.stringify(message))) as string);
  const store = new LeasedStateStore(new PrimaryLeases(ask, setup), setup.clock);
  primary.handle('state.asked', account => store.askBack(account as string));
  return store;
}
