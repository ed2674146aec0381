import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { type ProcessMetrics, readMetrics } from '../chaos/process-metrics.ts';
import { numberFrom } from '../command-options.ts';
import { cpuSecondsOf, machineText, thisMachine } from '../machine.ts';
import { defineTool, say } from '../tool.ts';
import { benchPlace } from './place.ts';
import { measureRequests } from './request-load.ts';
import { sidecar } from './sluice-contestants.ts';
import { SoakLoad } from './soak-load.ts';
import { isSteady, soakReport } from './soak-report.ts';

interface Options {
  readonly minutes: number;
  readonly requests?: number;
  readonly streams: number;
}

/** How often a line tells of the run. */
const lines = 60;

const ofSoak = sidecar('soak', 'sluice sidecar', {}, ({ directory }) => ({
  config: { stores: { records: `sqlite:${join(directory, 'sluice.db')}` } },
}));

/** One sidecar under a constant load for minutes or hours, and whether its memory stays as it is. */
export const tool = defineTool<Options>({
  about:
    'Linux with taskset and two cores. Progress on stderr, tables in Markdown on stdout; exit code 1 when something grows from the second to the last third of the run, or when a reply is not as expected.',
  options: command =>
    command
      .option('--minutes <N>', 'how long', numberFrom(0.1, 10_000, false), 120)
      .option('--requests <N>', 'per second (default: half of the most)', numberFrom(1, 100_000))
      .option('--streams <N>', 'streams that are open at any time', numberFrom(0, 5000), 100),
  async run({ options: { minutes, requests: given, streams }, command }) {
    const machine = thisMachine();
    const { port, pid, adminUrl } = await ofSoak.start(await benchPlace());
    const origin = `http://127.0.0.1:${port}`;
    const requests = given ?? (await halfOfMost(origin));
    const load = new SoakLoad(origin, requests, streams);
    say(`${requests} requests per second and ${streams} streams for ${minutes} minutes`);
    const [cpu_s, began_ms] = [cpuSecondsOf(pid!), performance.now()];
    const samples = await sampled(adminUrl!, began_ms, minutes, load);
    const core = (cpuSecondsOf(pid!) - cpu_s) / ((performance.now() - began_ms) / 1000);
    await load.end();
    const run = { samples, began_ms, replies: load.replies, streams: load.streams, faults: load.faults };
    const about = `\`${command}\`: ${requests} requests per second, ${streams} streams, ${(core * 100).toFixed(0)} % of a core`;
    process.stdout.write(`${machineText(machine)}\n${about}\n\n${soakReport(run)}\n`);
    return isSteady(run);
  },
});

/** The metrics over the run: every second, in a long run less often, and as often as lines need in a short one. */
async function sampled(adminUrl: string, began_ms: number, minutes: number, load: SoakLoad) {
  const samples: ProcessMetrics[] = [];
  const reads = lines * Math.round(Math.min(20, Math.max(1, minutes)));
  while (samples.length < reads) {
    const due_ms = began_ms + ((samples.length + 1) * minutes * 60_000) / reads;
    await after(Math.max(0, due_ms - performance.now()));
    samples.push(await readMetrics(adminUrl));
    if (samples.length % (reads / lines) === 0) say(lineOf(samples.at(-1)!, began_ms, load));
  }
  return samples;
}

/** Half of the requests per second that a closed loop reaches. */
async function halfOfMost(origin: string): Promise<number> {
  const closed = { task: 'chat', origin, headers: {}, connections: 32, measure_ms: 8000 } as const;
  const start = () => {
    const began_ms = performance.now();
    return () => ({ measured_ms: performance.now() - began_ms });
  };
  const { count, measured_ms } = await measureRequests({ ...closed, start });
  return Math.round((count / measured_ms) * 500);
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
