import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Program } from './programs.ts';

const drivers = fileURLToPath(new URL('drivers/', import.meta.url));

/** The folder of a program's packages, which stays between runs; programs of the same packages share it. */
export const folderOf = ({ packages: [own = ''] }: Pick<Program, 'packages'>): string =>
  join(tmpdir(), 'sluice-clients', own.replaceAll(/[^a-z0-9.]+/g, '-'));

/** Installs a program's packages, without their install scripts, unless the same ones are there. */
export async function install({ packages, omits_optional }: Program): Promise<void> {
  const folder = folderOf({ packages });
  const mark = join(folder, 'installed.json');
  const wanted = JSON.stringify(packages);
  if ((await readFile(mark, 'utf8').catch(() => '')) !== wanted) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const flags = [
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      ...(omits_optional ? ['--omit=optional'] : []),
    ];
    await promisify(execFile)('npm', ['install', ...flags, ...packages], { cwd: folder });
    await writeFile(mark, wanted);
  }
  await cp(drivers, folder, { recursive: true });
}
