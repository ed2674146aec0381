/**
 * `quiet.ts FILE`, beside the tests: every few seconds the time of a fixed loop, and what processes that are not of this run have used.
 * Writes them to FILE as JSON until it is ended.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { QuietSample } from './time-bound.ts';

const every_ms = 5000;
const rounds = 4_000_000;
/** In the environment of all that `.ci/run` has started, and of their children. */
const mark = `SLUICE_SUITE=${process.env.SLUICE_SUITE}\0`;
const ticks_per_second = 100;

/** CPU milliseconds of the loop: other programs make it longer only by slowing the core down. */
function loop_ms(): number {
  const before = process.cpuUsage();
  let value = 1;
  for (let round = 0; round < rounds; round++) value = (value * 48_271) % 2_147_483_647;
  const { user, system } = process.cpuUsage(before);
  return value > 0 ? (user + system) / 1000 : 0;
}

interface Running {
  readonly parent: number;
  readonly isMarked: boolean;
  /** CPU seconds until now, with those of children that it has waited for. */
  readonly cpu_s: number;
}

function readProcess(pid: number): Running {
  const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'latin1');
  const stat = read('stat');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  // Threads of the kernel have no command line: they work for all.
  const isMarked = read('cmdline') === '' || read('environ').includes(mark);
  return { parent: Number(fields[1]), isMarked, cpu_s: ticks / ticks_per_second };
}

/** CPU seconds of each process that is neither of this run nor a child of one that is: some overwrite their environment. */
function foreignSeconds(): Map<number, number> {
  const all = new Map<number, Running>();
  for (const pid of readdirSync('/proc').map(Number).filter(Boolean)) {
    try {
      all.set(pid, readProcess(pid));
    } catch {
      // It has ended, or is not ours to look at.
    }
  }
  const isOwn = (pid: number): boolean => {
    const { isMarked = false, parent = 0 } = all.get(pid) ?? {};
    return isMarked || (parent > 0 && isOwn(parent));
  };
  return new Map([...all].filter(([pid]) => !isOwn(pid)).map(([pid, { cpu_s }]) => [pid, cpu_s]));
}

const samples: QuietSample[] = [];
let [before, before_ms] = [foreignSeconds(), performance.now()];
setInterval(() => {
  const [now, now_ms] = [foreignSeconds(), performance.now()];
  const used_s = [...now].map(([pid, cpu_s]) => Math.max(0, cpu_s - (before.get(pid) ?? 0)));
  const foreign_cores = (1000 * used_s.reduce((sum, each) => sum + each, 0)) / (now_ms - before_ms);
  samples.push({ loop_ms: loop_ms(), foreign_cores });
  [before, before_ms] = [now, now_ms];
  writeFileSync(process.argv[2]!, JSON.stringify(samples));
}, every_ms);
