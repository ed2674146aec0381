import type { GatewayConfig } from '../../src/config/schema.ts';
import type { Limit, LimitName } from '../../src/gateway/limits/limit-table.ts';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import { FakeClock } from './fake-clock.ts';
import {
  ask,
  clientKey,
  type GatewayOverrides,
  type GatewayUnderTest,
  startGateway,
} from './gateway-under-test.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { until } from './until.ts';

/** A gateway whose one account, `tester`, has limits, with access to its state. */
export interface LimitedGateway {
  readonly upstream: ScriptedUpstream;
  readonly gateway: GatewayUnderTest;
  readonly state: MemoryStateStore;
  readonly clock: FakeClock;
  send(more?: object, init?: RequestInit): Promise<Response>;
  /** The remaining amounts of the tester's limits of that name. */
  remaining(name: LimitName, max: number): number;
  /** Resolves when no exchange is in flight. */
  idle(): Promise<void>;
}

const open: LimitedGateway[] = [];

type Limits = NonNullable<GatewayConfig['plans']>[string];

/**
 * Ended by `closeLimited`. Time stands still unless a test advances it, so that windows do not slide and timings are 0; time limits and
 * other timers run on the system's clock.
 */
export async function startLimited(
  limits: Limits,
  { config, options, ...overrides }: Omit<GatewayOverrides, 'upstream'> = {},
): Promise<LimitedGateway> {
  const clock = new FakeClock();
  const state = new MemoryStateStore(clock);
  const upstream = await startScriptedUpstream();
  const gateway = await startGateway({
    upstream,
    ...overrides,
    options: { state, clock, ...options },
    config: {
      plans: { tested: limits },
      accounts: { tester: { plan: 'tested', keys: [{ value: clientKey }] } },
      ...config,
    },
  });
  const limited: LimitedGateway = {
    upstream,
    gateway,
    state,
    clock,
    send: (more, init) => gateway.post(ask('Hello?', more), init),
    remaining: (name, max) => state.statuses('tester', [{ name, max } satisfies Limit])[0]!.remaining,
    idle: () => until(() => gateway.gateway.inFlight === 0),
  };
  open.push(limited);
  return limited;
}

/** For afterEach. Expects that no lease is left. */
export async function closeLimited(): Promise<void> {
  const all = open.splice(0);
  for (const { gateway, upstream } of all) {
    await gateway.gateway.close(0);
    await gateway.close();
    await upstream.close();
  }
  for (const { remaining } of all) {
    const left = 100 - remaining('concurrent_requests', 100);
    if (left !== 0) throw new Error(`${left} leases are left`);
  }
}
