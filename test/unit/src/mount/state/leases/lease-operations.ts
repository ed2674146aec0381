import * as fc from 'fast-check';
import type { Limit, LimitName } from '../../../../../../src/gateway/limits/limit-table.ts';
import { LeaseWorld, times, type WorldOptions } from './lease-world.ts';

const limit = (name: LimitName, max: number, of: Partial<Limit> = {}): Limit => ({ name, max, ...of });

/** Limits of all windows, of the account, a model and a key. */
const limitsUpTo = (max: number) => ({
  requests: limit('requests_per_minute', max),
  running: limit('concurrent_requests', Math.ceil(max / 2)),
  tokens: limit('tokens_per_minute', 3 * max),
  daily: limit('tokens_per_day', 5 * max, { key: 'k' }),
  money: limit('usd_per_month', 4 * max, { hard: true }),
  ofWeek: limit('usd_per_week', 4 * max, { time_zone: 'Asia/Kolkata', start_day: 6 }),
  credit: limit('usd_total', 9 * max, { hard: true }),
  ofModel: limit('requests_per_minute', Math.ceil(max / 2), { model: 'm' }),
});
type Limits = ReturnType<typeof limitsUpTo>;

/** What requests reserve: the rows before a body, those after it, and some alone. */
const shapes = {
  beforeBody: { requests: 1, running: 1 },
  withRequest: { tokens: 3, daily: 3, money: 2 },
  ofModel: { requests: 1, ofModel: 1, tokens: 1 },
  money: { money: 1 },
  budgets: { ofWeek: 1, credit: 1 },
  running: { running: 1 },
} as const satisfies Record<string, Partial<Record<keyof Limits, number>>>;
type Shape = keyof typeof shapes;

/** What may happen. `process` and `packet` are taken modulo what there is. */
export type Operation =
  | { reserve: Shape; process: number; times: number; force?: true }
  | { alone: Shape; process: number }
  | { settle: number; part: number }
  | { cancel: number }
  | { tick: number }
  | { deliver: number; again?: true }
  | { drop: number }
  | { advance_ms: number }
  | { run_ms: number }
  | { crash: number }
  | { step_days: number; of?: number }
  | { forget: true };

function operate(world: LeaseWorld, limits: Limits, operation: Operation): void {
  const process = (at: number) => at % world.processes.length;
  const packet = (at: number) => at % Math.max(1, world.packets.length);
  const asked = (shape: Shape) => {
    const entries = Object.entries<number>(shapes[shape]);
    return [
      entries.map(([name]) => limits[name as keyof Limits]),
      entries.map(([, amount]) => amount),
    ] as const;
  };
  if ('reserve' in operation)
    for (let time = 0; time < operation.times; time++)
      world.reserve(process(operation.process), ...asked(operation.reserve), operation.force);
  else if ('alone' in operation) world.count(process(operation.process), ...asked(operation.alone));
  else if ('settle' in operation)
    world.settle(operation.settle, reserved => Math.floor(reserved * operation.part));
  else if ('cancel' in operation) world.cancel(process(operation.cancel));
  else if ('tick' in operation) world.tick(process(operation.tick));
  else if ('deliver' in operation) world.deliver(packet(operation.deliver), operation.again);
  else if ('drop' in operation) world.drop(packet(operation.drop));
  else if ('advance_ms' in operation) world.advance(operation.advance_ms);
  else if ('run_ms' in operation) world.run(operation.run_ms);
  else if ('crash' in operation) world.crash(process(operation.crash));
  else if ('forget' in operation) world.forget();
  else if (operation.of === undefined) world.setClock(operation.step_days * day_ms);
  else world.processes[process(operation.of)]!.clock_ms += Math.abs(operation.step_days) * day_ms;
}
const day_ms = 86_400_000;

type Weighted = fc.MaybeWeightedArbitrary<Operation>;
const index = fc.nat(7);
const record = <T extends Operation>(
  weight: number,
  model: { [K in keyof T]: fc.Arbitrary<T[K]> },
): Weighted => ({
  weight,
  arbitrary: fc.record(model) as unknown as fc.Arbitrary<Operation>,
});
const shape = fc.constantFrom(...(Object.keys(shapes) as Shape[]));
const requests = [
  record(6, { reserve: shape, process: index, times: fc.integer({ min: 1, max: 4 }) }),
  record(4, { settle: index, part: fc.constantFrom(0, 0.5, 1, 1, 2) }),
];
/** Requests over a network in order. */
export const calm = [...requests, record(6, { run_ms: fc.nat(60) })];
/** Messages that are late, lost, doubled, and in another order. */
export const network = [
  ...requests,
  record(1, { cancel: index }),
  record(1, { alone: shape, process: index }),
  record(6, { tick: index }),
  record(8, { deliver: index }),
  record(2, { deliver: index, again: fc.constant(true as const) }),
  record(2, { drop: index }),
  record(4, { advance_ms: fc.constantFrom(1, 10, 40, 40, 100, 700) }),
  record(1, { run_ms: fc.nat(60) }),
];
/** Crashes, silences, and clocks that are set. */
export const disasters = [
  ...network,
  record(1, { crash: index }),
  record(2, { advance_ms: fc.constantFrom(Math.ceil(times.lease_ms / 3), times.lease_ms, 20_000, 61_000) }),
  record(1, { step_days: fc.constantFrom(-40, -1, 1, 40) }),
  record(1, { step_days: fc.constantFrom(1, 40), of: index }),
  record(1, { reserve: shape, process: index, times: fc.constant(1), force: fc.constant(true as const) }),
];
/** A table that loses its state. */
export const losses = [...disasters, record(1, { forget: fc.constant(true as const) })];

/** What happens to so many processes, with limits of about `max`. */
export interface Run {
  readonly processes: number;
  readonly max: number;
  readonly operations: readonly Operation[];
}

export const runOf = (kinds: readonly Weighted[]): fc.Arbitrary<Run> =>
  fc.record({
    processes: fc.integer({ min: 2, max: 4 }),
    max: fc.constantFrom(1, 2, 3, 8, 30),
    operations: fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 60, size: 'max' }),
  });

/** Runs, and throws where a limit is exceeded at any moment, or where anything is forgotten or counted for too long in the end. */
export function ended({ processes, max, operations }: Run, options: WorldOptions = {}): LeaseWorld {
  const world = new LeaseWorld(processes, options);
  const limits = limitsUpTo(max);
  for (const operation of operations) operate(world, limits, operation);
  world.rest();
  world.verify(Object.values(limits));
  return world;
}
