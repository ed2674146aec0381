import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { median } from '../figures.ts';
import { load_core, moveTo } from '../machine.ts';
import { root } from '../processes.ts';
import { defineTool, say } from '../tool.ts';
import { cpu_us } from './gateways.ts';
import { benchPlace, type Entry, measureAll, started } from './measurement.ts';
import { shortened, shortenedSidecar } from './sluice-contestants.ts';

/** Runs that must all find a sidecar grown: another program on the machine may disturb one. */
const tries = 3;
const load = { rounds: 10, streams: 0, seconds: 0.4, connections: 32 };
/** What counts as grown. */
const most = 1.25;

/** A sidecar as it is, and as it was at the last release; both measured in the same rounds. */
interface Pair {
  readonly name: string;
  readonly now: Pick<Entry, 'requests'>;
  readonly released: Pick<Entry, 'requests'>;
}

/** Fails if the sidecar, or what is left of it without some of its parts, takes more than 25 % more CPU than at the last release. */
export const tool = defineTool<{ against?: string }>({
  about:
    'Compares with a tag v…, or the commit in release.json, in rounds that take turns; about a minute. Passes over machines without two cores or taskset, and clones without that commit.',
  options: command => command.option('--against <COMMIT>', 'another commit than that of the last release'),
  async run({ options }) {
    const commit = options.against ?? releasedCommit();
    const why = obstacle(commit);
    if (why !== undefined) {
      say(`PASSED OVER: nothing is compared with the last release: ${why}`);
      return true;
    }
    const place = await benchPlace();
    let grown: { readonly name: string; readonly now: Entry; readonly released: Entry }[] = [];
    for (const name of Object.keys(shortened)) {
      const now = await started(shortenedSidecar(name), place);
      const released = await started(shortenedSidecar(name, commit), place);
      if (now.fault) throw new Error(`${name}: ${now.fault}`);
      if (released.fault) say(`${name} is not compared: ${released.fault}`);
      else grown.push({ name, now, released });
    }
    // Only those that have grown in every run run again.
    for (let attempt = 1; attempt <= tries && grown.length > 0; attempt++) {
      const entries = grown.flatMap(({ now, released }) => [now, released]);
      for (const { requests } of entries) requests.length = 0;
      await measureAll(entries, load, place.upstream.pid, attempt === 1 ? 3 : 0);
      for (const { contestant, fault } of entries) if (fault) throw new Error(`${contestant.name}: ${fault}`);
      for (const pair of grown) process.stdout.write(`${growthOf(pair).text}, run ${attempt}\n`);
      grown = grown.filter(pair => growthOf(pair).isGrown);
    }
    for (const { name } of grown) say(`${name} takes more than 25 % more CPU, in each of ${tries} runs`);
    return grown.length === 0;
  },
});

/** The median over the rounds of the ratios of CPU per request, and whether that is more than 25 % more than it was. */
export function growthOf({ name, now, released }: Pair) {
  const [now_us, released_us] = [now.requests.map(cpu_us), released.requests.map(cpu_us)];
  const ratio = median(now_us.map((value, round) => value / released_us[round]!));
  const figures = `${median(released_us).toFixed(0)}, now ${median(now_us).toFixed(0)} µs`;
  return {
    isGrown: ratio > most,
    text: `${name}: ${ratio.toFixed(2)} times the CPU per request (${figures})`,
  };
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/** What `run` returns; undefined if it throws. */
function tried<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** The last release: the newest tag of a version, or else the commit in release.json. */
function releasedCommit(): string {
  const { commit } = JSON.parse(readFileSync(join(import.meta.dirname, 'release.json'), 'utf8'));
  return tried(() => git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*')) ?? commit;
}

/** Why nothing can be compared with `commit` here; undefined if it can. */
function obstacle(commit: string): string | undefined {
  if (availableParallelism() < 2) return 'it needs two cores';
  if (tried(() => moveTo(load_core, process.pid) ?? true) === undefined)
    return 'it needs taskset, and a second core';
  if (tried(() => git('cat-file', '-e', `${commit}^{commit}`)) === undefined)
    return `this clone has no commit ${commit}, as a shallow one may not`;
  return undefined;
}
