import { join } from 'node:path';
import { Client, type Dispatcher } from 'undici';
import { cpuSecondsOf, gateway_core } from '../machine.ts';
import { bare, root, startFile } from '../processes.ts';
import type { GrowthServer, GrowthSizes } from './growth-server.ts';
import { replyTo } from './request-load.ts';

/** Making a million accounts takes a while. */
const startup_ms = 300_000;
const connections = 4;
/** Warm code, and a measurement that steps of 10 ms, in which Linux counts CPU time, do not distort. */
const [warmup_cpu_s, least_cpu_s, least_requests] = [2, 1, 4];

/** What a sidecar tells that has so much of everything, and the CPU microseconds that it takes for a request. */
export interface GrowingSidecar extends GrowthServer {
  cpu_us(requestOf: () => Dispatcher.DispatchOptions, origin?: string): Promise<number>;
}

/** Starts such a sidecar, in a process of its own on the gateways' core, and ends it after `use`. */
export async function withSidecar<T>(sizes: GrowthSizes, use: (sidecar: GrowingSidecar) => Promise<T>) {
  const file = join(root, 'test/tools/bench/growth-server.ts');
  const flags = ['--max-old-space-size=8192'];
  const started = startFile(file, [JSON.stringify(sizes)], { core: gateway_core, env: bare(), flags });
  const [, text] = await started.printed(/growth (\{.*\})/, startup_ms);
  const told = JSON.parse(text!) as GrowthServer;
  try {
    return await use({
      ...told,
      cpu_us: (requestOf, origin = told.url) => cpuOfLoop(started.pid, origin, requestOf),
    });
  } finally {
    started.signal('SIGKILL');
    await started.exited;
  }
}

/** CPU microseconds of a process per request, in the long run of a closed loop. */
async function cpuOfLoop(
  pid: number,
  origin: string,
  requestOf: () => Dispatcher.DispatchOptions,
): Promise<number> {
  const clients = Array.from({ length: connections }, () => new Client(origin));
  let requests = 0;
  let isStopped = false;
  const loops = clients.map(async client => {
    for (; !isStopped; requests++) await replyTo(client, requestOf());
  });
  const all = Promise.all(loops);
  const used = async (cpu_s: number) => {
    const [from_s, from] = [cpuSecondsOf(pid), requests];
    for (;;) {
      await Promise.race([new Promise(resolve => setTimeout(resolve, 20)), all]);
      const [seconds, count] = [cpuSecondsOf(pid) - from_s, requests - from];
      if (seconds >= cpu_s && count >= least_requests) return (seconds / count) * 1e6;
    }
  };
  try {
    await used(warmup_cpu_s);
    const figure = await used(least_cpu_s);
    isStopped = true;
    await all;
    return figure;
  } finally {
    isStopped = true;
    for (const client of clients) void client.destroy();
  }
}
