import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Mutant, mutantsOf } from './operators.ts';
import { relatedTests } from './related-tests.ts';

const usage = `npm run mutants -- PATH … [--sample N] [--seed N] [--near] [--list]

Puts small bugs into the source files at PATH, one at a time, in a copy of the tree, runs the tests that belong to each file, and prints
the bugs that no test noticed. What only the type check would reject is said to be noticed by it.

  --sample N   no more than N bugs, drawn evenly from all (default: 40; 0 for all)
  --seed N     another draw
  --near       only unit and contract tests: quick, and misses what end-to-end tests show
  --list       print the bugs without running anything
  --releases   the folders that are run before a release, in place of PATH
`;

/** Settlement, limits, streams, failover, ledger. */
const beforeRelease = [
  'src/settlement',
  'src/stores/limits',
  'plugins/stages/rate-limit',
  'src/outbound',
  'src/upstream',
  'src/stores/ledger',
];
/** Beyond what all tests take without a bug: one that makes them run for ever is noticed as well. */
const further_patience_ms = 60_000;
/** A bug may leave every test of a file waiting; no quick one takes long without it. */
const quick_test_ms = 20_000;
const types_project = 'tsconfig.mutants.json';

/** A bug is noticed by one of these, tried in this order, or by none. */
type Witness = 'tests' | 'types';

interface Place extends Mutant {
  readonly file: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    near: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    releases: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
});
const paths = values.releases ? beforeRelease : positionals;
if (values.help || paths.length === 0) {
  process.stdout.write(usage);
  process.exit(values.help ? 0 : 2);
}

const listed = (...args: string[]): string[] =>
  execFileSync('git', ['ls-files', ...args], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
const tests = listed('test').filter(file => file.endsWith('.test.ts'));
const files = listed(...paths).filter(file => /^(src|plugins)\/.*\.ts$/.test(file));
const all: Place[] = files.flatMap(file =>
  mutantsOf(readFileSync(file, 'utf8')).map(mutant => ({ ...mutant, file })),
);
let patience_ms = 1_800_000;
const drawn = draw(all, Number(values.sample), Number(values.seed));

if (values.list) for (const place of drawn) print(described(place));
else process.exitCode = (await run()) ? 0 : 1;

/** Whether every bug was noticed. */
async function run(): Promise<boolean> {
  const tree = copyOfTree();
  process.on('exit', () => rmSync(tree, { recursive: true, force: true }));
  const survivors: Place[] = [];
  const counts = { tests: 0, types: 0 };
  await assertWhole(tree);
  for (const [at, place] of drawn.entries()) {
    const witness = await witnessOf(tree, place);
    if (witness) counts[witness]++;
    else survivors.push(place);
    print(`${at + 1}/${drawn.length} ${witness ? `noticed by ${witness}` : 'SURVIVED'} ${described(place)}`);
  }
  const share = (100 * (drawn.length - survivors.length)) / drawn.length;
  print(
    `\n${counts.tests} of ${drawn.length} bugs noticed by tests, ${counts.types} by the type check alone (${share.toFixed(0)} %), of ${all.length} that could be put in`,
  );
  for (const place of survivors) print(`survived: ${described(place)}`);
  return survivors.length === 0;
}

/** Tests that fail without a bug would notice every one. */
async function assertWhole(tree: string): Promise<void> {
  if (!(await compiles(tree))) throw new Error('the type check fails without any bug');
  const began_ms = performance.now();
  const groups = drawn.map(({ file }) => groupsOf(file));
  const all = new Set(groups.flatMap(({ quick, slow }) => [...quick, ...slow].flat()));
  if (all.size > 0 && !(await passes(tree, [...all], [])))
    throw new Error(`a test fails without any bug, of: ${[...all].join(' ')}`);
  patience_ms = performance.now() - began_ms + further_patience_ms;
}

/** The tests of a file in the order in which they are tried. */
function groupsOf(file: string): { quick: string[][]; slow: string[][] } {
  const { own, near, far } = relatedTests(file, tests);
  const filled = (...groups: string[][]) => groups.filter(group => group.length > 0);
  return { quick: filled(own, near), slow: values.near ? [] : filled(far) };
}

async function witnessOf(tree: string, { file, start, end, text }: Place): Promise<Witness | undefined> {
  const path = join(tree, file);
  const source = readFileSync(path);
  const { quick, slow } = groupsOf(file);
  writeFileSync(path, Buffer.concat([source.subarray(0, start), Buffer.from(text), source.subarray(end)]));
  try {
    for (const group of quick)
      if (!(await passes(tree, group, ['--testTimeout', String(quick_test_ms)]))) return 'tests';
    if (!(await compiles(tree))) return 'types';
    for (const group of slow) if (!(await passes(tree, group, []))) return 'tests';
    return undefined;
  } finally {
    writeFileSync(path, source);
  }
}

/** Whether these tests pass in the copy, with these options of jest. */
function passes(tree: string, group: readonly string[], options: readonly string[]): Promise<boolean> {
  const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
  return succeeds(tree, [
    ...jest,
    '--bail',
    '--silent',
    '--forceExit',
    ...options,
    '--runTestsByPath',
    ...group,
  ]);
}

/** Whether the sources of the copy pass the type check. */
function compiles(tree: string): Promise<boolean> {
  return succeeds(tree, ['node_modules/typescript/bin/tsc', '-p', types_project]);
}

/** Whether a script ends well, run in the copy and in time. */
function succeeds(tree: string, args: readonly string[]): Promise<boolean> {
  const child = spawn(process.execPath, args, { cwd: tree, stdio: 'ignore', detached: true });
  return new Promise(resolve => {
    const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), patience_ms);
    child.once('exit', code => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}

/** The tracked files as they are in the working tree, without what they were built from. */
function copyOfTree(): string {
  const tree = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));
  for (const file of listed()) cpSync(file, join(tree, file));
  symlinkSync(join(process.cwd(), 'node_modules'), join(tree, 'node_modules'));
  // What a bug leaves unused is no error of types.
  const compilerOptions = { incremental: true, noUnusedLocals: false, noUnusedParameters: false };
  const project = { extends: './tsconfig.json', compilerOptions, include: ['src', 'plugins'] };
  writeFileSync(join(tree, types_project), JSON.stringify(project));
  return tree;
}

/** `count` elements at equal distances, from a place that `seed` chooses. */
function draw<T>(from: readonly T[], count: number, seed: number): T[] {
  if (count === 0 || from.length <= count) return [...from];
  const step = from.length / count;
  const offset = (seed * 0.618_033_988_749_895) % 1;
  return Array.from({ length: count }, (_, at) => from[Math.floor((at + offset) * step)]!);
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
