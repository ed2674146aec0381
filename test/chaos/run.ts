import { setTimeout as after } from 'node:timers/promises';
import { Books } from './books.ts';
import { Client } from './clients/client.ts';
import { Draw } from './clients/draw.ts';
import type { Check, Clients, Findings, RunOptions, Scenario, Step } from './scenario.ts';
import { checksOf, spare } from './verdict.ts';
import { readVitals, type Vitals } from './vitals.ts';
import { World } from './world.ts';

/** Milliseconds within which gateways must be back in their idle state. */
const settling_ms = 30_000;
const rows_per_page = 10_000;

/** One scenario, and whether what is promised held. */
export interface Result {
  readonly scenario: Scenario;
  readonly checks: readonly Check[];
  readonly findings: Findings;
  readonly figures: Readonly<Record<string, string>>;
}

/** Starts the servers of a scenario, runs its clients and faults, and audits the result. */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<Result> {
  const books = new Books();
  const world = new World(scenario.servers ?? {}, books, options);
  try {
    await world.start();
    const { load, figures } = await underLoad(scenario, world, books, options);
    const end = await settled(world, books);
    await Promise.all(world.gateways.map(each => each.stop()));
    await readLedger(world, books);
    const findings = { ...load, world, books, end };
    return { scenario, findings, figures, checks: await checksOf(scenario, findings, options) };
  } finally {
    await world.stop();
  }
}

async function underLoad(scenario: Scenario, world: World, books: Books, options: RunOptions) {
  const { clients, steps = [], drive } = scenario;
  const over = new AbortController();
  const client = new Client(over.signal);
  const samples: Vitals[] = [];
  const steps_ms: number[] = [];
  const begun_ms = performance.now();
  const sampling = sample(world, samples, over.signal, options);
  const workers = clients
    .flatMap(group => Array.from({ length: Math.ceil(group.count * options.load) }, () => group))
    .map((group, at) => work(group, at, client, world, books, options, over.signal));
  const driven = drive?.(world, books, options.seconds);
  let figures: Readonly<Record<string, string>> = {};
  try {
    const [measured = {}] = await Promise.all([driven, inTurn(steps, world, options.seconds, steps_ms)]);
    figures = measured;
  } finally {
    over.abort();
    await Promise.all([...workers, sampling]);
    client.close();
  }
  const seconds = (performance.now() - begun_ms) / 1000;
  return { load: { seconds, begun_ms, samples, steps_ms }, figures };
}

/** One step after the other, and then what is left of the time. */
async function inTurn(
  steps: readonly Step[],
  world: World,
  seconds: number,
  steps_ms: number[],
): Promise<void> {
  let left = 1;
  for (const step of steps) {
    left -= step.after;
    await after(step.after * seconds * 1000);
    await step.do(world);
    steps_ms.push(performance.now());
  }
  await after(left * seconds * 1000);
}

/** One client after another, each with an errand of its own. */
async function work(
  { kinds, pause_ms = 40 }: Clients,
  worker: number,
  client: Client,
  world: World,
  books: Books,
  { seed }: RunOptions,
  over: AbortSignal,
): Promise<void> {
  const draw = new Draw(seed * 1000 + worker);
  for (let n = 0; !over.aborted; n++) {
    const kind = draw.weighted(kinds);
    const id = `x${worker}-${n}`;
    const errand = kind.make(draw, id);
    const gateway = world.pick();
    const recorded = books.begin(id, kind, errand, gateway);
    books.end(id, await client.do(errand, id, gateway.url, recorded));
    await after(draw.integer(0, pause_ms));
  }
}

/** Samples the vitals of the first gateway while it runs. */
async function sample(
  { gateways }: World,
  samples: Vitals[],
  over: AbortSignal,
  { seconds }: RunOptions,
): Promise<void> {
  const pause_ms = Math.min(5000, Math.max(100, seconds * 8));
  while (!over.aborted) {
    const [gateway] = gateways;
    // One that has ended gives none; that is seen elsewhere.
    if (gateway?.isUp && !gateway.isPaused)
      await readVitals(gateway.adminUrl).then(
        vitals => samples.push(vitals),
        () => {},
      );
    await after(pause_ms, undefined, { signal: over }).catch(() => {});
  }
}

/** The vitals of the gateways once clients and providers are gone, or after the time within which they should be idle. */
async function settled({ gateways, providers }: World, books: Books): Promise<Vitals[]> {
  const deadline_ms = performance.now() + settling_ms;
  const live = gateways.filter(({ isUp }) => isUp);
  const look = () => Promise.all(live.map(({ adminUrl }) => readVitals(adminUrl)));
  let areGone = false;
  while (true) {
    const now = await look();
    const isIdle = now.every(vitals => vitals.in_flight + vitals.background + vitals.queued === 0);
    const isBack = now.every(
      ({ open_files, timers }, at) =>
        open_files <= (live[at]?.before?.open_files ?? 0) + spare.open_files &&
        timers <= (live[at]?.before?.timers ?? 0) + spare.timers,
    );
    if (isIdle && areGone && isBack && books.missing.length === 0) return now;
    if (performance.now() > deadline_ms) return now;
    // Connections that are kept to a provider would be counted as open; it closes them.
    if (isIdle && !areGone) {
      await Promise.all(providers.map(each => each.kill()));
      areGone = true;
    }
    await after(100);
  }
}

async function readLedger(world: World, books: Books): Promise<void> {
  await world.look(async store => {
    let last: { started_ms: number; id: string } | undefined;
    do {
      const page = await store.ledger.list({ limit: rows_per_page, ...(last && { after: last }) });
      for (const row of page) books.row(row);
      last = page.length === rows_per_page ? page.at(-1) : undefined;
    } while (last);
  });
}
