import { readFileSync } from 'node:fs';
import { Dice } from '../../../src/simulator/seed.ts';
import { numberFrom } from '../command-options.ts';
import { defineTool } from '../tool.ts';
import { MutatedTree, tracked } from './mutated-tree.ts';
import { mutantsOf } from './operators.ts';
import { folderOf, folders } from './related-tests.ts';
import { type Place, Trial, type Witness, witnesses } from './trial.ts';

interface Options {
  readonly sample: number;
  readonly seed: number;
  readonly near?: true;
  readonly list?: true;
}

interface Found {
  readonly place: Place;
  readonly witness: Witness;
}

/** Puts small bugs into the source files, one at a time, in a copy of the tree, and runs the tests that belong to each file, quick ones first. */
export const tool = defineTool<Options>({
  about:
    'Prints the bugs that no test noticed, and the share that was noticed by folder; fails if one was not. What only the type check would reject is said to be noticed by it.',
  options: command =>
    command
      .argument('[PATH...]', 'files and folders (default: src and plugins)')
      .option('--sample <N>', 'so many bugs, drawn from all files alike; 0 for all', numberFrom(0, 1e6), 40)
      .option('--seed <N>', 'another sample', numberFrom(0, 1e9), 1)
      .option('--near', 'only unit and contract tests: quick, and misses what end-to-end tests show')
      .option('--list', 'print the bugs without running anything'),
  async run({ options, names }) {
    const places = drawn(options, names);
    if (!options.list) return runAll(places, options.near === true);
    for (const place of places) print(described(place));
    return true;
  },
});

/** Whether every bug was noticed. Stopped by Ctrl-C it reports on those that it has tried. */
async function runAll(places: readonly Place[], isNear: boolean): Promise<boolean> {
  const trial = new Trial(new MutatedTree(), isNear);
  const found: Found[] = [];
  process.prependOnceListener('SIGINT', () => report(found));
  for (const [at, place] of places.entries()) {
    const began_ms = performance.now();
    const witness = await trial.witnessOf(place);
    found.push({ place, witness });
    const took_s = Math.round((performance.now() - began_ms) / 1000);
    const told = witness === 'none' ? 'SURVIVED' : `noticed by ${witness}`;
    print(`${at + 1}/${places.length} ${told} in ${took_s} s: ${described(place)}`);
  }
  report(found);
  return found.every(({ witness }) => witness !== 'none');
}

/** Prints the survivors, and a table of all by folder. */
function report(found: readonly Found[]): void {
  const survivors = found.filter(({ witness }) => witness === 'none');
  print(`\n${survivors.length} of ${found.length} survived`);
  for (const { place } of survivors) print(described(place));
  const rows = folders.map(([folder]): [string, Witness[]] => [
    folder,
    found.flatMap(({ place, witness }) => (folderOf(place.file) === folder ? witness : [])),
  ]);
  print(`\n${tableOf([...rows, ['all', found.map(({ witness }) => witness)]])}`);
}

/** Bugs from equal parts of all that can be put in, one of each part. */
function drawn({ sample, seed }: Options, paths: readonly string[]): Place[] {
  const files = tracked(...(paths.length > 0 ? paths : ['src', 'plugins']));
  const all: Place[] = files
    .filter(file => /^(src|plugins)\/.*\.ts$/.test(file))
    .flatMap(file => mutantsOf(readFileSync(file, 'utf8')).map(mutant => ({ ...mutant, file })));
  if (sample === 0 || all.length <= sample) return all;
  const dice = new Dice(seed);
  const part = all.length / sample;
  return Array.from({ length: sample }, (_, at) => all[Math.floor((at + dice.roll()) * part)]!);
}

/** Bugs by folder and witness; folders without a bug are left out. */
function tableOf(rows: readonly [string, readonly Witness[]][]): string {
  const lines = rows
    .filter(([, found]) => found.length > 0)
    .map(([folder, found]) => {
      const counts = witnesses.map(witness => found.filter(each => each === witness).length);
      const share = Math.round(100 * (1 - counts.at(-1)! / found.length));
      return [folder, found.length, ...counts.map(count => count || ''), `${share} %`];
    });
  const table = [['folder', 'bugs', ...witnesses, 'noticed'], ...lines];
  return table
    .map(([name, ...cells]) =>
      [String(name).padEnd(28), ...cells.map(cell => String(cell).padStart(7))].join(' '),
    )
    .join('\n');
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
