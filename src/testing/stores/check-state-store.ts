import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { systemClock } from '../../common/clock.ts';
import type { Limit } from '../../gateway/limits/limit-table.ts';
import type { StatePlace } from '../../records/define-state-store.ts';
import type { RemoteReservationResult, RemoteState } from '../../records/remote-state.ts';
import { createLog } from '../../telemetry/log.ts';
import { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { Expectation } from './expectation.ts';

const charge = { requests: 1, tokens: 10, nano_usd: 5 };

/** Two instances that share a server, under a prefix of their own. */
class Pair {
  readonly #account = randomUUID();
  readonly states: readonly RemoteState[];

  constructor(server: StatePlace) {
    const key_prefix = `check-${randomUUID()}:`;
    const common = {
      clock: systemClock,
      log: createLog('silent'),
      metrics: new StoreMetrics(new Registry()),
    };
    const setup = { key_prefix, timeout_ms: 2000, connect_timeout_ms: 2000, lease_ms: 1000, ...common };
    this.states = [0, 1].map(() => server.open(setup).state);
  }

  /** Reserves at one of the two; with a way to settle what was admitted. */
  async reserve(at: 0 | 1, limits: readonly Limit[], account = this.#account) {
    const state = this.states[at]!;
    const request = { id: randomUUID(), account, limits, charge };
    const result: RemoteReservationResult = await state.reserve(request);
    const life = state.serverOf(account).life;
    const reserved_ms = systemClock.elapsed_ms();
    const settlement = { hold: { request, life, reserved_ms }, used: charge, settled_ms: reserved_ms };
    return { ...result, settle: (used = charge) => state.settle({ ...settlement, used }) };
  }
}

const limitOf = (name: Limit['name'], max: number): Limit => ({ name, max });

/**
 * Checks that a state store counts as `RemoteState` promises, over two instances of one server: no limit is exceeded, all limits of a
 * reservation hold or none, and a settlement counts once. Uses keys of its own. Throws a ContractError that names the store, what was
 * expected and what came.
 */
export async function checkStateStore(name: string, server: StatePlace): Promise<void> {
  const expect = new Expectation(name);
  const pair = new Pair(server);
  try {
    for (const state of pair.states) for (const one of state.servers()) await one.heartbeat(10_000);
    await checkBurst(pair, expect);
    await checkSeveral(pair, expect);
    await checkSettlement(pair, expect);
    await checkConcurrency(pair, expect);
  } finally {
    await Promise.all(pair.states.map(state => state.close()));
  }
}

async function checkBurst(pair: Pair, expect: Expectation): Promise<void> {
  const limits = [limitOf('requests_per_minute', 20)];
  const all = await Promise.all(
    Array.from({ length: 50 }, (_, at) => pair.reserve((at % 2) as 0 | 1, limits)),
  );
  const admitted = all.filter(one => one.admitted).length;
  expect.same('limits', 'two instances admit another number of a burst', 20, admitted);
  const refused = await pair.reserve(0, limits);
  expect.same(
    'limits',
    'a refusal names another limit',
    limits[0],
    refused.admitted ? undefined : refused.refused_by,
  );
}

async function checkSeveral(pair: Pair, expect: Expectation): Promise<void> {
  const account = randomUUID();
  const [wide, narrow] = [limitOf('requests_per_minute', 5), limitOf('tokens_per_day', 15)];
  for (const at of [0, 1] as const) await pair.reserve(at, [wide, narrow], account);
  const [status] = await pair.states[0]!.statuses(account, [wide]);
  expect.same('limits', 'a refused reservation counts under another limit', 4, status?.remaining);
}

async function checkSettlement(pair: Pair, expect: Expectation): Promise<void> {
  const account = randomUUID();
  const limits = [limitOf('tokens_per_day', 100)];
  const { settle } = await pair.reserve(0, limits, account);
  for (let times = 0; times < 2; times++) await settle({ ...charge, tokens: 40 });
  const [status] = await pair.states[1]!.statuses(account, limits);
  expect.same('settlement', 'what was used counts otherwise, or twice', 60, status?.remaining);
}

async function checkConcurrency(pair: Pair, expect: Expectation): Promise<void> {
  const account = randomUUID();
  const limits = [limitOf('concurrent_requests', 1)];
  const first = await pair.reserve(0, limits, account);
  expect.same(
    'limits',
    'concurrency is not shared',
    false,
    (await pair.reserve(1, limits, account)).admitted,
  );
  await first.settle();
  expect.same(
    'settlement',
    'a permit does not come back',
    true,
    (await pair.reserve(1, limits, account)).admitted,
  );
}
