/**
 * `npm run release`: makes the package in release/, looks at it as its users would, and tags the commit; `--publish` publishes it.
 * With `--dry-run` it does neither, and the rest.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { manifest, type Packed, pack } from '../package/pack.ts';
import { installFreshly } from './fresh-install.ts';
import { provenanceOf } from './provenance.ts';

const { 'dry-run': isDry, publish } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, publish: { type: 'boolean', default: false } },
}).values;
const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, 'release');
const tag = `v${manifest.version}`;

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
const tool = (name: string, ...args: string[]) => run(`build/release/node_modules/.bin/${name}`, ...args);

let wrong = 0;
async function step(what: string, take: () => unknown): Promise<void> {
  const began_ms = performance.now();
  let seen: unknown;
  let isWrong = false;
  try {
    seen = await take();
  } catch (thrown) {
    // The message has what a program printed on standard error.
    const { stdout, message } = thrown as Error & { stdout?: string };
    seen = [message, stdout].filter(Boolean).join('\n');
    isWrong = true;
    wrong++;
  }
  const took_s = ((performance.now() - began_ms) / 1000).toFixed(1);
  process.stdout.write(
    `${isWrong ? 'WRONG  ' : 'ok     '} ${what} (${took_s} s)${seen ? `\n          ${seen}` : ''}\n`,
  );
}

/** The hand-written section of this version. */
function sectionOf(changelog: string): string {
  const [, section] =
    changelog
      .split(/^(?=## )/m)
      .find(part => part.startsWith(`## ${manifest.version}\n`))
      ?.match(/^.*\n([\s\S]*)$/) ?? [];
  if (section === undefined)
    throw new Error(`CHANGELOG.md has no section ${manifest.version}: shorten release/changes.md for it`);
  return section.trim();
}

/** A program of Node's newest version, which the package `node` brings. */
function newestNode(place: string): string {
  writeFileSync(join(place, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }\n');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', 'node@26'], { cwd: place, stdio: 'pipe' });
  return join(place, 'node_modules/node/bin/node');
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
let changes = '';
let packed: Packed | undefined;
const isTagged = run('git', 'tag', '--list', tag) !== '';
await step(`this commit can become ${tag}`, () => {
  const changed = run('git', 'status', '--porcelain');
  if (!isDry && changed) throw new Error(`there are changes that are not committed:\n${changed}`);
  if (!isDry && isTagged && run('git', 'rev-parse', `${tag}^{commit}`) !== run('git', 'rev-parse', 'HEAD'))
    throw new Error(`${tag} is another commit`);
  return [run('git', 'log', '-1', '--format=%h %s'), changed && 'with changes', isTagged && 'tagged']
    .filter(Boolean)
    .join(', ');
});
await step('the tools are installed', () => run('npm', 'ci', '--prefix', 'build/release') && '');
await step('the commits since the last tag are in release/changes.md', () => {
  tool('conventional-changelog', '--preset', 'conventionalcommits', '--outfile', 'release/changes.md');
  return `${readFileSync(join(folder, 'changes.md'), 'utf8').match(/^\* /gm)?.length ?? 0} changes`;
});
await step(`CHANGELOG.md tells of ${manifest.version}`, () => {
  changes = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
});
await step('the package is built, with docs/api', () => run('npm', 'run', 'prepack') && '');
await step('the package is packed', () => {
  packed = pack(folder);
  return `${packed.tarball.replace(root, '')}, ${packed.files.length} files`;
});
if (packed) {
  const { tarball } = packed;
  await step('publint and Are the types wrong find nothing', () => {
    run('node_modules/.bin/publint', '--strict', tarball);
    tool('attw', '--profile', 'esm-only', tarball);
  });
  await step('its provenance is in release/, without a signature', () => {
    writeFileSync(
      `${tarball.replace(/\.tgz$/, '')}.provenance.json`,
      `${JSON.stringify(provenanceOf(tarball), null, 2)}\n`,
    );
  });
  await step('npm would publish it', () => run('npm', 'publish', '--dry-run', '--access', 'public', tarball));
  await step('it is installed and runs', () => installFreshly(tarball, process.execPath));
  const place = mkdtempSync(join(tmpdir(), 'sluice-node-'));
  await step('it is installed and runs with a newer Node', () => installFreshly(tarball, newestNode(place)));
  rmSync(place, { recursive: true });
}
if (wrong > 0) {
  process.stdout.write(`\n${wrong} steps are wrong: nothing is tagged or published.\n`);
  process.exit(1);
}
if (isDry) {
  process.stdout.write(
    '\nA rehearsal: nothing is tagged or published. npm signs the provenance only in a workflow of GitHub or GitLab.\n',
  );
} else {
  if (!isTagged)
    await step(`the tag ${tag}`, () =>
      run('git', 'tag', '--annotate', tag, '--message', `sluice ${manifest.version}\n\n${changes}`),
    );
  if (publish)
    await step('published', () =>
      run('npm', 'publish', '--provenance', '--access', 'public', packed!.tarball),
    );
  else
    process.stdout.write(
      `\nNothing is published. For that: git push origin ${tag}, and npm run release -- --publish in a workflow.\n`,
    );
}
process.exit(wrong > 0 ? 1 : 0);
