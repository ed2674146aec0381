import { RedisState } from '../../../plugins/stores/redis/redis-state.ts';
import type { Limit } from '../../../src/gateway/limits/limit-table.ts';
import type { Charge } from '../../../src/gateway/limits/limit-units.ts';
import type { Hold } from '../../../src/gateway/limits/remote-state.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import type { MadeExchange } from './made-exchanges.ts';

/** What an account may do; the limits of all units and windows. */
const limits: readonly Limit[] = [
  { name: 'requests_per_minute', max: 600 },
  { name: 'tokens_per_minute', max: 2_000_000 },
  { name: 'tokens_per_day', max: 1_000_000_000 },
  { name: 'concurrent_requests', max: 10_000 },
  { name: 'usd_per_month', max: 1_000_000_000_000 },
] as Limit[];
/** Reserved before the body of a request is read, and after. */
const halves = [
  limits.filter(({ name }) => /requests/.test(name)),
  limits.filter(({ name }) => !/requests/.test(name)),
];
const lease_ms = 15_000;

/** The state of several gateways in one Redis, at the time of a clock that is not the server's. */
export class StateMonth {
  readonly #instances: readonly RedisState[];
  readonly #clock: FakeClock;
  #made = 0;

  constructor(url: string, instances: number, clock: FakeClock) {
    this.#clock = clock;
    const options = { url, key_prefix: 'sluice:', connect_timeout_ms: 5000, timeout_ms: 60_000, lease_ms };
    const log = createLog('silent');
    const now_ms = () => clock.epoch_ms();
    this.#instances = Array.from(
      { length: instances },
      () => new RedisState({ ...options, log, clock, now_ms }),
    );
  }

  /** Each instance once says that it is there, which also connects it. */
  async heartbeats(): Promise<void> {
    const servers = this.#instances.flatMap(instance => instance.servers());
    await Promise.all(servers.map(server => server.heartbeat()));
  }

  /** Reserves for an exchange as a gateway does. Returns what ends it; undefined if it is refused. */
  async begin({ instance: at, account, charge }: MadeExchange) {
    const instance = this.#instances[at]!;
    const holds: Hold[] = [];
    for (const some of halves) {
      const request = { id: `exchange-${++this.#made}`, account, limits: some, charge };
      const result = await instance.reserve(request);
      if (!result.admitted) return undefined;
      holds.push({ request, reserved_ms: this.#clock.elapsed_ms(), life: instance.serverOf(account).life });
    }
    return {
      renew: () => instance.renew(holds),
      settle: async (used: Charge) => {
        const settled_ms = this.#clock.elapsed_ms();
        await Promise.all(holds.map(hold => instance.settle({ hold, used, settled_ms, certain: true })));
      },
    };
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await Promise.all(this.#instances.map(instance => instance.close()));
  }
}
