import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Dice } from '../../../src/simulator/seed.ts';
import { numberFrom } from '../command-options.ts';
import { markdownTable } from '../figures.ts';
import { root } from '../processes.ts';
import { defineTool } from '../tool.ts';
import { MutantTree, type Place } from './mutant-tree.ts';
import { mutantsOf } from './operators.ts';
import { relatedTests } from './related-tests.ts';

/** Settlement, limits, streams, failover, ledger. */
const beforeRelease = [
  'src/settlement',
  'src/stores/limits',
  'plugins/stages/rate-limit',
  'src/outbound',
  'src/upstream',
  'src/stores/ledger',
];

interface Options {
  readonly sample: number;
  readonly seed: number;
  readonly near?: true;
  readonly list?: true;
  readonly releases?: true;
}

/** Puts small bugs into the source files, one at a time, in a copy of the tree, and runs the tests that belong to each file. */
export const tool = defineTool<Options>({
  about:
    'Prints the bugs that no test noticed, and the share that was noticed by folder; fails if one was not. What only the type check would reject is said to be noticed by it.',
  options: command =>
    command
      .argument('[PATH...]', 'files and folders (default: src and plugins)')
      .option('--sample <N>', 'so many bugs, drawn from all; 0 for all', numberFrom(0, 1e6), 40)
      .option('--seed <N>', 'another sample', numberFrom(0, 1e9), 1)
      .option('--near', 'only unit and contract tests: quick, and misses what end-to-end tests show')
      .option('--list', 'print the bugs without running anything')
      .option('--releases', 'the folders that are run before a release, in place of PATH'),
  async run({ options, names }) {
    const paths = options.releases ? beforeRelease : names.length > 0 ? names : ['src', 'plugins'];
    const files = listed(...paths).filter(file => /^(src|plugins)\/.*\.ts$/.test(file));
    const all: Place[] = files.flatMap(file =>
      mutantsOf(readFileSync(file, 'utf8')).map(mutant => ({ ...mutant, file })),
    );
    const drawn = draw(all, options.sample, options.seed);
    if (!options.list) return runAll(drawn, options, all.length);
    for (const place of drawn) print(described(place));
    return true;
  },
});

/** Whether every bug was noticed. */
async function runAll(drawn: readonly Place[], { near }: Options, of_all: number): Promise<boolean> {
  const tests = listed('test').filter(file => file.endsWith('.test.ts'));
  const tree = new MutantTree(listed(), file => {
    const related = relatedTests(file, tests);
    const filled = (...groups: string[][]) => groups.filter(group => group.length > 0);
    return { quick: filled(related.own, related.near), slow: near ? [] : filled(related.far) };
  });
  const survivors: Place[] = [];
  const counts = { tests: 0, types: 0 };
  await tree.assertWhole(drawn);
  for (const [at, place] of drawn.entries()) {
    const witness = await tree.witnessOf(place);
    if (witness) counts[witness]++;
    else survivors.push(place);
    print(`${at + 1}/${drawn.length} ${witness ? `noticed by ${witness}` : 'SURVIVED'} ${described(place)}`);
  }
  print(`\n${shares(drawn, survivors)}\n`);
  print(
    `${counts.tests} of ${drawn.length} bugs noticed by tests, ${counts.types} by the type check alone, of ${of_all} that could be put in`,
  );
  for (const place of survivors) print(`survived: ${described(place)}`);
  return survivors.length === 0;
}

/** The share that was noticed, by folder. */
function shares(drawn: readonly Place[], survivors: readonly Place[]): string {
  const folderOf = ({ file }: Place) => dirname(file).split('/').slice(0, 3).join('/');
  const countIn = (places: readonly Place[], folder: string) =>
    places.filter(place => folderOf(place) === folder).length;
  const rows = [...new Set(drawn.map(folderOf))].toSorted().map(folder => {
    const [bugs, missed] = [countIn(drawn, folder), countIn(survivors, folder)];
    return [folder, `${bugs}`, `${bugs - missed}`, `${((100 * (bugs - missed)) / bugs).toFixed(0)} %`];
  });
  return markdownTable(['folder', 'bugs', 'noticed', 'share'], rows);
}

const listed = (...args: string[]): string[] =>
  execFileSync('git', ['ls-files', ...args], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);

/** `count` elements by chance, the same for the same seed, in the order in which they were. */
function draw<T>(from: readonly T[], count: number, seed: number): T[] {
  if (count === 0 || from.length <= count) return [...from];
  const dice = new Dice(seed);
  const left = from.map((_, at) => at);
  const drawn = Array.from({ length: count }, () => left.splice(dice.integer(0, left.length - 1), 1)[0]!);
  return drawn.toSorted((one, other) => one - other).map(at => from[at]!);
}

function described({ file, start, end, what }: Place): string {
  const source = readFileSync(file);
  const line = source.subarray(0, start).toString().split('\n').length;
  const text = source.subarray(start, end).toString().replace(/\s+/g, ' ').slice(0, 80);
  return `${file}:${line} ${what}: ${text}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
