import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Dice } from '../../../src/simulator/seed.ts';
import { numberFrom } from '../command-options.ts';
import { markdownTable } from '../figures.ts';
import { defineTool } from '../tool.ts';
import { MutatedTree, tracked } from './mutated-tree.ts';
import { mutantsOf } from './operators.ts';
import { type Place, Trial, type Witness, witnesses } from './trial.ts';

interface Options {
  readonly sample: number;
  readonly seed: number;
  readonly near?: true;
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
      .option('--near', 'only unit and contract tests: quick, and misses what end-to-end tests show'),
  run: ({ options, names }) => runAll(drawn(options, names), options.near === true),
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
  const byFolder = Object.groupBy(found, ({ place }) => dirname(place.file).split('/', 2).join('/'));
  const rows = Object.entries({ ...byFolder, all: found }).map(([folder, all = []]) => {
    const counts = witnesses.map(witness => all.filter(each => each.witness === witness).length);
    const share = Math.round(100 * (1 - counts.at(-1)! / all.length));
    return [folder, String(all.length), ...counts.map(String), `${share} %`];
  });
  print(`\n${markdownTable(['folder', 'bugs', ...witnesses, 'noticed'], rows)}`);
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

function described({ file, start, end, what }: Place): string {
  const source = readFileSync(file);
  const line = source.subarray(0, start).toString().split('\n').length;
  const text = source.subarray(start, end).toString().replace(/\s+/g, ' ').slice(0, 80);
  return `${file}:${line} ${what}: ${text}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
