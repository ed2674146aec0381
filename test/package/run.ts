/** `npm run package`: the package as it would be published, checked and used as its users would. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { pack } from '../../build/package/pack.ts';
import { brokenLinks } from '../support/documents/links.ts';
import { linkPackages, productionPackages } from '../support/linked-packages.ts';
import { tryDemo } from './demo.ts';
import { programs } from './programs.ts';

const needed = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'bin/sluice.cjs',
  'dist/plugins/dashboard/assets/uPlot.LICENSE',
  'docs/reference/configuration.md',
  'examples/README.md',
  'grafana/alerts/sluice.inhibit.yaml',
  'grafana/alerts/sluice.rules.yaml',
  'sluice.example.yaml',
  'sluice.schema.json',
];
const max_files = 2250;
/** A project that has the package as it would be published, and no other package of this repository than those that npm installs with it. */
const directory = mkdtempSync(join(tmpdir(), 'sluice-package-'));
const inside = join(directory, 'node_modules/sluice');
const { tarball, files } = pack(directory);
execFileSync('tar', ['-xzf', tarball, '-C', directory]);
cpSync(join(directory, 'package'), inside, { recursive: true });
// Users have a compiler, and Express with its types.
const beside = ['express', 'typescript', '@types/express', '@types/node'];
linkPackages([...productionPackages(), ...beside], join(directory, 'node_modules'));
let wrong = 0;

async function check(what: string, find: () => unknown): Promise<void> {
  const faults: unknown[] = [];
  try {
    faults.push(...[(await find()) ?? []].flat());
  } catch (thrown) {
    const { stdout, message } = thrown as Error & { readonly stdout?: string };
    faults.push(stdout || message);
  }
  if (faults.length > 0) wrong++;
  process.stdout.write(
    `${[`${faults.length === 0 ? 'as it must' : 'WRONG     '}  ${what}`, ...faults].join('\n  ')}\n`,
  );
}

/** Output of Node with these arguments in the project; throws when it fails. */
const node = (...args: string[]): string =>
  execFileSync(process.execPath, args, { cwd: directory, encoding: 'utf8', stdio: 'pipe' }).trim();
const prints = (file: string, expected: string) => {
  const printed = node(file);
  return printed === expected ? [] : [printed];
};

await check('has what it needs and no other files', () => {
  const surplus = files.filter(
    file => /\.map$|(?<!\.d)\.ts$|\.test\./.test(file) && !file.startsWith('examples/'),
  );
  const many = files.length > max_files ? [`${files.length} files`] : [];
  return [...needed.filter(file => !files.includes(file)), ...surplus, ...many];
});
await check('has no Markdown with a link that leads nowhere in it', () =>
  files
    // typedoc checks its own, and numbers headings of one name in its own way.
    .filter(file => file.endsWith('.md') && !file.startsWith('docs/api/'))
    .flatMap(file => brokenLinks(file, readFileSync(join(inside, file), 'utf8'), inside)),
);
await check('is published as publint demands', async () => {
  const { messages, pkg } = await publint({ pkgDir: inside, strict: true, pack: false });
  return messages.map(message => formatMessage(message, pkg!));
});
await check('has types that resolve as Are the types wrong demands', () => {
  const tools = fileURLToPath(new URL('../../build/release/', import.meta.url));
  execFileSync('npm', ['ci', '--prefix', tools], { stdio: 'pipe' });
  execFileSync(join(tools, 'node_modules/.bin/attw'), ['--profile', 'esm-only', tarball], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
});
for (const [name, text] of Object.entries(programs)) writeFileSync(join(directory, name), text);
await check(
  'type-checks in strict programs of both module systems, without the types of optional packages',
  () => {
    node('node_modules/typescript/bin/tsc', '--project', '.');
  },
);
await check('runs in a module', () => prints('built/module.mjs', 'true'));
await check('is required by TypeScript', () => prints('built/require.cjs', 'true'));
await check('is the same when it is required and imported', () => prints('plain.cjs', 'true'));

/** Other work on the machine makes single runs longer, so the shortest of a few counts. */
async function shortestOf(runs: number, run: () => number | Promise<number>): Promise<number> {
  let shortest_ms = Infinity;
  for (let at = 0; at < runs; at++) shortest_ms = Math.min(shortest_ms, await run());
  return Math.round(shortest_ms);
}

const startDemo = async (): Promise<number> =>
  (await tryDemo(process.execPath, ['node_modules/sluice/bin/sluice.cjs'], { cwd: directory })).took_ms;

// Twice what is promised for a developer's machine, since this one may be busy.
await check('is imported within 800 ms', async () => {
  const program =
    "const began_ms = performance.now(); await import('sluice'); console.log(performance.now() - began_ms)";
  const took_ms = await shortestOf(5, () => Number(node('--input-type=module', '--eval', program)));
  return took_ms < 800 ? [] : [`${took_ms} ms`];
});
await check('serves the demo by its command within 2 s', async () => {
  const took_ms = await shortestOf(5, startDemo);
  return took_ms < 2000 ? [] : [`${took_ms} ms`];
});
rmSync(directory, { recursive: true });
process.exit(wrong > 0 ? 1 : 0);
