import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { systemClock } from '../../common/clock.ts';
import type { Limit } from '../../gateway/limits/limit-table.ts';
import type { StatePlace } from '../../records/define-state-store.ts';
import {
  type LeaseAnswer,
  type LeaseMessage,
  machine_times,
  type RowReport,
} from '../../records/lease-protocol.ts';
import type { RemoteState } from '../../records/remote-state.ts';
import { createLog } from '../../telemetry/log.ts';
import { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { Expectation } from './expectation.ts';

const times = { ...machine_times, lease_ms: 1000 };
const minute: Limit = { name: 'requests_per_minute', max: 20 };
const daily: Limit = { name: 'tokens_per_day', max: 100 };
const running: Limit = { name: 'concurrent_requests', max: 1 };

/** What a message reports of its only row, or asks for. */
interface Said extends Partial<Omit<RowReport, 'limit'>> {
  readonly seq?: number;
  /** Requests, each with an amount of every limit. */
  readonly wants?: readonly (readonly number[])[];
}

/** A process that speaks to one instance of the store about one account. */
class Holder {
  readonly #state: RemoteState;
  readonly #account: string;
  readonly #limits: readonly Limit[];
  readonly #name = randomUUID();
  #seq = 0;
  last: LeaseAnswer | undefined;

  constructor(state: RemoteState, account: string, limits: readonly Limit[]) {
    this.#state = state;
    this.#account = account;
    this.#limits = limits;
  }

  /** The message; the first one asks for the time before. */
  async message({ seq = ++this.#seq, wants = [], ...report }: Said = {}): Promise<LeaseMessage> {
    const row = { used: 0, back: 0, block: 0, refunds: [], ...report };
    const hello = { account: this.#account, session: 1, seq, rows: [], wants: [] };
    const { as_of } = this.last ?? (await this.#state.exchange(this.#name, hello));
    return {
      ...hello,
      session: 2,
      as_of,
      rows: this.#limits.map(limit => ({ limit, ...row })),
      wants: wants.map(amounts => ({ amounts, force: false })),
    };
  }

  async send(message: LeaseMessage): Promise<LeaseAnswer> {
    this.last = await this.#state.exchange(this.#name, message);
    return this.last;
  }

  /** What is answered to a message, which is counted. */
  async says(said: Said = {}) {
    const { counted } = await this.send(await this.message(said));
    return { rows: [], verdicts: [], ...counted };
  }

  async used(): Promise<number[]> {
    return (await this.says()).rows.map(({ used }) => used);
  }
}

/** Makes holders of accounts of their own: the first at one instance, the others at the second. */
type Open = (...limits: readonly Limit[]) => readonly [Holder, Holder, Holder];

/**
 * Checks that a state store counts as `SharedTable` promises, over two instances of one server: no limit is exceeded, all limits of a
 * request hold or none, a message counts once, and what a process holds ends with it. Uses keys of its own. Throws a ContractError that
 * names the store, what was expected and what came.
 */
export async function checkStateStore(name: string, server: StatePlace): Promise<void> {
  const expect = new Expectation(name);
  const common = { clock: systemClock, log: createLog('silent'), metrics: new StoreMetrics(new Registry()) };
  const key_prefix = `check-${randomUUID()}:`;
  const setup = { key_prefix, timeout_ms: 2000, connect_timeout_ms: 2000, times, ...common };
  const states = [0, 1].map(() => server.open(setup).state) as [RemoteState, RemoteState];
  const open: Open = (...limits) => {
    const account = randomUUID();
    const [first, second] = states;
    const at = (state: RemoteState) => new Holder(state, account, limits);
    return [at(first), at(second), at(second)];
  };
  try {
    for (const state of states) for (const one of state.servers()) await one.heartbeat(10_000);
    await checkBurst(open, expect);
    await checkMessages(open, expect);
    await checkSettlement(open, expect);
    await checkBlocks(open, expect);
    await checkExpiry(open, expect);
  } finally {
    await Promise.all(states.map(state => state.close()));
  }
}

async function checkBurst(open: Open, expect: Expectation): Promise<void> {
  const holders = open(minute);
  const wants = Array.from({ length: 17 }, () => [1]);
  const all = (await Promise.all(holders.map(holder => holder.says({ wants })))).flatMap(one => one.verdicts);
  const refused = all.filter(({ refused_by }) => refused_by === 0);
  expect.same(
    'limits',
    'several processes admit another number of a burst',
    minute.max,
    all.length - refused.length,
  );
  expect.same('limits', 'a burst is not decided', 51, all.length);
  const [one, other] = open({ ...minute, max: 5 }, { ...daily, max: 15 });
  for (const holder of [one, other]) await holder.says({ wants: [[1, 10]] });
  expect.same('limits', 'a refused request counts under another limit', [1, 10], await one.used());
}

async function checkMessages(open: Open, expect: Expectation): Promise<void> {
  const [one, other] = open(daily);
  const message = await one.message({ wants: [[30]] });
  const answer = await one.send(message);
  expect.same('limits', 'a repeated message has another answer', answer, await one.send(message));
  expect.same('limits', 'a repeated message counts twice', [30], await other.used());
  const gap = await one.send(await one.message({ seq: 7, wants: [[30]] }));
  expect.same('limits', 'a message after a gap counts', [undefined, [30]], [gap.counted, await other.used()]);
}

async function checkSettlement(open: Open, expect: Expectation): Promise<void> {
  const [one, other] = open(daily);
  await one.says({ wants: [[60]] });
  const refunds = [[one.last!.as_of.at_ms, 20]] as const;
  await one.says({ used: 5, refunds });
  expect.same('settlement', 'what was used counts otherwise', [45], await other.used());
  const [holder, waiting] = open(running);
  await holder.says({ wants: [[1]] });
  const asks = async () => (await waiting.says({ wants: [[1]] })).verdicts[0]?.refused_by;
  expect.same('limits', 'concurrency is not shared', 0, await asks());
  await holder.says({ used: -1, back: 1 });
  expect.same('settlement', 'a permit does not come back', undefined, await asks());
}

async function checkBlocks(open: Open, expect: Expectation): Promise<void> {
  const [one, other] = open(daily);
  const granted = (await one.says({ block: 40 })).rows[0]?.granted;
  const { verdicts } = await other.says({ wants: [[80]] });
  const { is_asked_back } = (await one.says({ block: 40 })).rows[0] ?? {};
  await one.says({ back: 40 });
  const admitted = (await other.says({ wants: [[80]] })).verdicts[0]?.refused_by;
  expect.same(
    'limits',
    'a block is not granted, held, asked back and given back',
    [40, true, true, undefined],
    [granted, verdicts[0]?.is_held, is_asked_back, admitted],
  );
}

async function checkExpiry(open: Open, expect: Expectation): Promise<void> {
  const [dead, other] = open(daily);
  const [gone, waiting] = open(running);
  await dead.says({ block: 40 });
  await gone.says({ wants: [[1]] });
  await sleep(times.lease_ms + 100);
  expect.same('ending', 'the block of a dead process is not used', [40], await other.used());
  expect.same('ending', 'the permit of a dead process is not free', [0], await waiting.used());
}
