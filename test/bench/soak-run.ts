import { setTimeout as after } from 'node:timers/promises';
import { stringify } from 'yaml';
import { defaultModels } from '../../src/catalog/default-models.ts';
import type { SimulatorStats } from '../../src/simulator/server.ts';
import { configFile, sidecarConfig } from '../support/sidecar-process.ts';
import { Client } from './soak-client.ts';
import { Draw } from './soak-draw.ts';
import type { Kind } from './soak-errand.ts';
import { faultyKinds } from './soak-faulty.ts';
import { healthyKinds } from './soak-healthy.ts';
import { Ledger } from './soak-ledger.ts';
import * as limits from './soak-limits.ts';
import type { SoakOptions } from './soak-options.ts';
import {
  type GatewayProcess,
  type SimulatorProcess,
  startGatewayProcess,
  startSimulatorProcess,
} from './soak-processes.ts';
import { rudeKinds } from './soak-rude.ts';
import { readVitals, type Vitals } from './soak-vitals.ts';

export const kinds: readonly Kind[] = [...healthyKinds, ...faultyKinds, ...rudeKinds];

/** All that a run has shown. */
export interface Findings {
  readonly ledger: Ledger;
  readonly seconds: number;
  readonly samples: readonly Vitals[];
  /** Idle, before the load and after it. */
  readonly before: Vitals;
  readonly end: Vitals;
  readonly upstream: SimulatorStats;
  readonly exit: number | string | undefined;
  readonly complaints: string;
}

/** A gateway in front of a simulator, each a process, and clients of every kind for as long as `options` say. */
export async function soak(options: SoakOptions): Promise<Findings> {
  const ledger = new Ledger();
  const simulator = await startSimulatorProcess();
  const { file, remove } = await configFile(stringify(configOf(simulator.url)));
  try {
    const gateway = await startGatewayProcess(file, line => ledger.line(line));
    try {
      return await underLoad(options, ledger, gateway, simulator);
    } finally {
      await gateway.stop();
    }
  } finally {
    await simulator.stop();
    await remove();
  }
}

function configOf(upstream: string) {
  const { max_body_bytes, slow_client_ms, time_limit_ms, idle_timeout_ms, patient_model } = limits;
  const server = { port: 0, max_body_bytes, slow_client_ms, non_stream_timeout_ms: time_limit_ms };
  const config = sidecarConfig(upstream, { log: { level: 'info' }, server });
  const { upstream: patient } = config.providers;
  const impatient = { ...patient, idle_timeout_ms };
  const models = [
    ...defaultModels('impatient').filter(({ id }) => id !== patient_model),
    ...defaultModels('patient').filter(({ id }) => id === patient_model),
  ];
  return { ...config, models, providers: { patient, impatient } };
}

async function underLoad(
  options: SoakOptions,
  ledger: Ledger,
  gateway: GatewayProcess,
  simulator: SimulatorProcess,
): Promise<Findings> {
  const client = new Client(gateway.url);
  const before = await readVitals(gateway.adminUrl);
  const start_ms = performance.now();
  const isOver = () => performance.now() - start_ms > options.seconds * 1000 || gateway.ended() !== undefined;
  const samples: Vitals[] = [];
  const sampling = sample(gateway, samples, options.sample_ms, isOver);
  const workers = Array.from({ length: options.concurrency }, (_, index) =>
    work(client, ledger, new Draw(options.seed * 1000 + index), `soak-${index}`, isOver),
  );
  await Promise.all([...workers, sampling]);
  const seconds = (performance.now() - start_ms) / 1000;
  client.close();
  if (gateway.ended() !== undefined)
    throw new Error(`the gateway ended by itself with ${gateway.ended()}: ${gateway.complaints()}`);
  const end = await settled(gateway, ledger, before, options);
  const upstream = await simulator.stats();
  const exit = await gateway.stop();
  return { ledger, seconds, samples, before, end, upstream, exit, complaints: gateway.complaints() };
}

/** One client after another, each with an errand of its own. */
async function work(
  client: Client,
  ledger: Ledger,
  draw: Draw,
  name: string,
  isOver: () => boolean,
): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const kind = draw.weighted(kinds);
    const errand = kind.make(draw, n);
    const id = `${name}.${n}`;
    const recorded = ledger.begin(id, kind.name, errand);
    ledger.end(id, await client.do(errand, id, recorded));
    await after(draw.integer(0, 40));
  }
}

async function sample(
  gateway: GatewayProcess,
  samples: Vitals[],
  sample_ms: number,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    // A gateway that has ended gives none; that is told of it elsewhere.
    await readVitals(gateway.adminUrl).then(
      vitals => samples.push(vitals),
      () => {},
    );
    await after(sample_ms);
  }
}

/** How the gateway is once nobody wants anything of it, or when it should long be idle and is not. */
async function settled(
  gateway: GatewayProcess,
  ledger: Ledger,
  before: Vitals,
  { settling_ms, spare_files }: SoakOptions,
): Promise<Vitals> {
  const deadline_ms = performance.now() + settling_ms;
  while (true) {
    const now = await readVitals(gateway.adminUrl);
    const isIdle =
      now.in_flight === 0 &&
      now.background === 0 &&
      ledger.missing === 0 &&
      now.open_files <= before.open_files + spare_files;
    if (isIdle || performance.now() > deadline_ms) return now;
    await after(250);
  }
}
