/** `npm run bench:soak`: one sidecar under a constant load for minutes or hours, and whether its memory stays as it is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { serveFile } from '../../support/sidecar-process.ts';
import { type ProcessMetrics, readMetrics } from '../chaos/process-metrics.ts';
import { numberFrom } from '../command-options.ts';
import { cpuSecondsOf, gateway_core, load_core, machineText, moveTo, thisMachine } from '../machine.ts';
import { startOwn } from '../processes.ts';
import { say } from './measurement.ts';
import { measureRequests } from './request-load.ts';
import { configFile } from './sluice-contestants.ts';
import { SoakLoad } from './soak-load.ts';
import { isSteady, soakReport } from './soak-report.ts';

const options = new Command('npm run bench:soak --')
  .description(
    'Linux with taskset and two cores. Progress on stderr, tables in Markdown on stdout; exit code 1 when something grows over the second half of the run, or when a reply is not as expected.',
  )
  .option('--minutes <N>', 'how long', numberFrom(0.5, 10_000, false), 120)
  .option(
    '--requests <N>',
    'requests per second (default: half of what it answers at most)',
    numberFrom(1, 100_000),
  )
  .option('--streams <N>', 'streams that are open at any time', numberFrom(0, 5000), 100)
  .parse()
  .opts<{ minutes: number; requests?: number; streams: number }>();

/** How often a line tells of the run. */
const lines = 60;
/** How often the metrics are read: every second, in a long run less often, and as often as lines need in a short one. */
const reads = lines * Math.round(Math.min(20, Math.max(1, options.minutes)));

/** Half of the requests per second that a closed loop reaches. */
async function halfOfMost(origin: string): Promise<number> {
  const connections = 32;
  const closed = { task: 'chat', origin, headers: {}, connections, measure_ms: 8000 } as const;
  const start = () => {
    const began_ms = performance.now();
    return () => ({ measured_ms: performance.now() - began_ms });
  };
  const { count, measured_ms } = await measureRequests({ ...closed, start });
  return Math.round((count / measured_ms) * 500);
}

async function main(): Promise<boolean> {
  const machine = thisMachine();
  moveTo(load_core, process.pid);
  const directory = mkdtempSync(join(tmpdir(), 'sluice-soak-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const upstream = await startOwn(load_core, fileURLToPath(new URL('upstream.ts', import.meta.url)));
  const stores = { records: `sqlite:${join(directory, 'sluice.db')}` };
  const sidecar = await serveFile(configFile({ directory, upstream }, 'soak', { stores }), {
    NODE_ENV: 'production',
  });
  moveTo(gateway_core, sidecar.pid);
  const requests = options.requests ?? (await halfOfMost(sidecar.url));
  const load = new SoakLoad(sidecar.url, requests, options.streams);
  say(`${requests} requests per second and ${options.streams} streams for ${options.minutes} minutes`);
  const [cpu_s, began_ms] = [cpuSecondsOf(sidecar.pid), performance.now()];
  const samples: ProcessMetrics[] = [];
  while (samples.length < reads) {
    const due_ms = began_ms + ((samples.length + 1) * options.minutes * 60_000) / reads;
    await after(Math.max(0, due_ms - performance.now()));
    samples.push(await readMetrics(sidecar.adminUrl));
    if (samples.length % (reads / lines) === 0) say(lineOf(samples.at(-1)!, began_ms, load));
  }
  const core = (cpuSecondsOf(sidecar.pid) - cpu_s) / ((performance.now() - began_ms) / 1000);
  await load.end();
  await sidecar.stop();
  const run = { samples, began_ms, replies: load.replies, streams: load.streams, faults: load.faults };
  const about = `${machineText(machine)}\n\`npm run bench:soak -- ${process.argv.slice(2).join(' ')}\`: ${requests} requests per second, ${options.streams} streams, ${(core * 100).toFixed(0)} % of a core`;
  process.stdout.write(`${about}\n\n${soakReport(run)}\n`);
  return isSteady(run);
}

const lineOf = (
  { at_ms, rss_bytes, old_bytes, queued, open_files }: ProcessMetrics,
  began_ms: number,
  { replies, streams, faults }: SoakLoad,
): string =>
  [
    `${((at_ms - began_ms) / 60_000).toFixed(1)} min`,
    `${(rss_bytes / 2 ** 20).toFixed(0)} MiB resident`,
    `${(old_bytes / 2 ** 20).toFixed(1)} MiB old heap`,
    `${queued} rows queued, ${open_files} files`,
    `${replies} replies, ${streams} streams`,
    ...[...faults].map(([text, times]) => `${times} × ${text}`),
  ].join(', ');

main().then(
  isGood => process.exit(isGood ? 0 : 1),
  (error: Error) => {
    say(error.stack ?? error.message);
    process.exit(1);
  },
);
