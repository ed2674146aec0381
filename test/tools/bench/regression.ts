/** `npm run bench:regression`: fails if a rung of the ladder takes more than 25 % more CPU per request than at the last release. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { listOf, numberFrom } from '../command-options.ts';
import { median } from '../figures.ts';
import { load_core, moveTo } from '../machine.ts';
import { startOwn } from '../processes.ts';
import { root } from './contestants.ts';
import { type RungName, rungNames } from './ladder/rungs.ts';
import { type Entry, measureAll, say, started } from './measurement.ts';
import { growthOf, isGrown, type Pair } from './regression-verdict.ts';
import { rung, rungAt } from './sluice-contestants.ts';

/** Runs that must all find a rung grown: another program on the machine may disturb one. */
const tries = 3;

const options = new Command('npm run bench:regression --')
  .description(
    'Compares the ladder with the last release, a tag v… or the commit in test/tools/bench/release.json, in rounds that take turns; about 80 s. Passes over machines without two cores or taskset, and clones without that commit.',
  )
  .option(
    '--rungs <A,B>',
    `of ${rungNames.join(', ')}`,
    listOf(Object.fromEntries(rungNames.map(name => [name, name]))),
    ['exchange', 'limits', 'routing', 'sidecar'],
  )
  .option('--rounds <N>', 'rounds of half a second each', numberFrom(3, 100), 10)
  .option('--against <COMMIT>', 'another commit than that of the last release')
  .parse()
  .opts<{ rungs: RungName[]; rounds: number; against?: string }>();

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/** Whether `run` succeeds. */
function succeeds(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}

/** The last release: the newest tag of a version, or else the commit in release.json. */
function releasedCommit(): string {
  const { commit } = JSON.parse(readFileSync(join(root, 'test/tools/bench/release.json'), 'utf8'));
  let tag = '';
  succeeds(() => (tag = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*')));
  return tag || commit;
}

/** Why nothing can be compared with `commit` here; undefined if it can. */
function obstacle(commit: string): string | undefined {
  if (availableParallelism() < 2) return 'it needs two cores';
  if (!succeeds(() => moveTo(load_core, process.pid))) return 'it needs taskset, and a second core';
  if (!succeeds(() => git('cat-file', '-e', `${commit}^{commit}`)))
    return `this clone has no commit ${commit}, as a shallow one may not`;
  return undefined;
}

/** Starts every rung of both commits. Those that cannot be compared are named and left out. */
async function startPairs(commit: string, directory: string, upstream: Entry['gateway'] & { pid: number }) {
  const pairs: Pair[] = [];
  for (const name of options.rungs) {
    const place = { directory, upstream };
    const [now, released] = [await started(rung(name), place), await started(rungAt(commit, name), place)];
    if (now.fault) throw new Error(`${name}: ${now.fault}`);
    if (released.fault) say(`${name} is not compared: ${released.fault}`);
    else pairs.push({ name, now, released });
  }
  return pairs;
}

async function main(): Promise<boolean> {
  const commit = options.against ?? releasedCommit();
  const why = obstacle(commit);
  if (why !== undefined) {
    say(`PASSED OVER: the ladder is not compared with the last release: ${why}`);
    return true;
  }
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const upstream = await startOwn(load_core, join(root, 'test/tools/bench/upstream.ts'));
  const pairs = await startPairs(commit, directory, upstream);
  const load = { rounds: options.rounds, seconds: 0.4, connections: 32, streams: 0 };
  let grown = pairs;
  for (let attempt = 1; attempt <= tries && grown.length > 0; attempt++) {
    for (const { now, released } of pairs) now.requests.length = released.requests.length = 0;
    const entries = grown.flatMap(({ now, released }) => [now, released]);
    await measureAll(entries, { ...load, rehearsal_s: attempt === 1 ? 3 : 0 }, upstream.pid);
    for (const { contestant, fault } of entries) if (fault) throw new Error(`${contestant.name}: ${fault}`);
    for (const pair of grown) {
      const { ratio, now_us, released_us } = growthOf(pair);
      process.stdout.write(
        `${pair.name}: ${ratio.toFixed(2)} times the CPU per request of ${commit.slice(0, 8)} (${median(now_us).toFixed(0)} and ${median(released_us).toFixed(0)} µs, run ${attempt})\n`,
      );
    }
    grown = grown.filter(isGrown);
  }
  for (const { name } of grown)
    say(`${name} takes more than 25 % more CPU per request, in each of ${tries} runs`);
  return grown.length === 0;
}

main().then(
  isWell => process.exit(isWell ? 0 : 1),
  (error: Error) => {
    say(error.message);
    process.exit(1);
  },
);
