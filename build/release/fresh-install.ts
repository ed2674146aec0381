import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { tryDemo } from '../../test/package/demo.ts';

/** Of node_modules with the package and all that npm installs with it, as a file system counts it. */
const max_mib = 45;
const start_ms = 30_000;

/** Installs a tarball in an empty folder by npm, imports the package and starts its demo there. Returns what was seen; throws when something is wrong. */
export async function installFreshly(tarball: string, node: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fresh-'));
  const { npm_command, NODE_OPTIONS, NODE_PATH, ...inherited } = process.env;
  const env = { ...inherited, PATH: dirname(node) + delimiter + process.env.PATH };
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    run('npm', 'install', '--no-audit', '--no-fund', tarball);
    const mib = sizeOf(join(folder, 'node_modules')) / 2 ** 20;
    if (mib > max_mib) throw new Error(`node_modules has ${mib.toFixed(1)} MiB, more than ${max_mib}`);
    const imports = ['sluice', 'sluice/plugin', 'sluice/testing'].map(name => `await import('${name}')`);
    run(node, '--input-type=module', '--eval', imports.join('; '));
    run(node, '--eval', "require('sluice').createGateway.name");
    const command = join(folder, 'node_modules/.bin/sluice');
    const { models } = await tryDemo(command, [], { cwd: folder, env }, start_ms);
    return `${run(node, '--version').trim()}: ${mib.toFixed(1)} MiB installed, imported, demo with ${models} models`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Bytes of a folder in blocks of 4 kB. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      const { size } = lstatSync(join(parentPath, name));
      return sum + Math.ceil(size / 4096) * 4096;
    }, 0);
}
