import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { listOf, numberFrom } from '../command-options.ts';
import { median } from '../figures.ts';
import { load_core, moveTo } from '../machine.ts';
import { root } from '../processes.ts';
import { defineTool, say } from '../tool.ts';
import type { Place } from './contestants.ts';
import { measureAll, started } from './measurement.ts';
import { benchPlace } from './place.ts';
import { growthOf, isGrown, type Pair } from './regression-verdict.ts';
import { shortened, shortenedSidecar } from './sluice-contestants.ts';

/** Runs that must all find a sidecar grown: another program on the machine may disturb one. */
const tries = 3;
const names = Object.keys(shortened);

interface Options {
  readonly only: readonly string[];
  readonly rounds: number;
  readonly streams: number;
  readonly against?: string;
}

/** Fails if the sidecar, or what is left of it without some of its parts, takes more than 25 % more CPU than at the last release. */
export const tool = defineTool<Options>({
  about:
    'Compares with a tag v…, or the commit in release.json, in rounds that take turns; about a minute. Passes over machines without two cores or taskset, and clones without that commit.',
  options: command =>
    command
      .option(
        '--only <A,B>',
        `of ${names.join(', ')}`,
        listOf(Object.fromEntries(names.map(name => [name, name]))),
        names,
      )
      .option('--rounds <N>', 'rounds of half a second each', numberFrom(3, 100), 10)
      .option('--streams <N>', 'events of so many streams are compared as well', numberFrom(0, 5000), 0)
      .option('--against <COMMIT>', 'another commit than that of the last release'),
  async run({ options }) {
    const commit = options.against ?? releasedCommit();
    const why = obstacle(commit);
    if (why !== undefined) {
      say(`PASSED OVER: nothing is compared with the last release: ${why}`);
      return true;
    }
    const place = await benchPlace();
    const pairs = await startPairs(options.only, commit, place);
    const grown = await grownAmong(pairs, options, place.upstream.pid);
    for (const { name } of grown) say(`${name} takes more than 25 % more CPU, in each of ${tries} runs`);
    return grown.length === 0;
  },
});

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
  const { commit } = JSON.parse(readFileSync(join(import.meta.dirname, 'release.json'), 'utf8'));
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

/** Starts every sidecar of both commits. Those that cannot be compared are named and left out. */
async function startPairs(chosen: readonly string[], commit: string, place: Place): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (const name of chosen) {
    const now = await started(shortenedSidecar(name), place);
    const released = await started(shortenedSidecar(name, commit), place);
    if (now.fault) throw new Error(`${name}: ${now.fault}`);
    if (released.fault) say(`${name} is not compared: ${released.fault}`);
    else pairs.push({ name, now, released });
  }
  return pairs;
}

/** Those that have grown in every run; only these run again. */
async function grownAmong(pairs: readonly Pair[], { rounds, streams }: Options, upstream_pid: number) {
  const load = { rounds, streams, seconds: 0.4, connections: 32 };
  let grown = pairs;
  for (let attempt = 1; attempt <= tries && grown.length > 0; attempt++) {
    const entries = grown.flatMap(({ now, released }) => [now, released]);
    for (const entry of entries) entry.requests.length = entry.streams.length = 0;
    await measureAll(entries, { ...load, rehearsal_s: attempt === 1 ? 3 : 0 }, upstream_pid);
    for (const { contestant, fault } of entries) if (fault) throw new Error(`${contestant.name}: ${fault}`);
    for (const pair of grown) process.stdout.write(`${lineOf(pair, streams > 0)}, run ${attempt}\n`);
    grown = grown.filter(isGrown);
  }
  return grown;
}

function lineOf(pair: Pair, withEvents: boolean): string {
  const texts = (withEvents ? (['requests', 'streams'] as const) : (['requests'] as const)).map(kind => {
    const { ratio, now_us, released_us } = growthOf(pair, kind);
    const unit = kind === 'requests' ? 'request' : 'event';
    return `${ratio.toFixed(2)} times the CPU per ${unit} (${median(released_us).toFixed(0)}, now ${median(now_us).toFixed(0)} µs)`;
  });
  return `${pair.name}: ${texts.join(', ')}`;
}
