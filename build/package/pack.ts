import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withAbsoluteLinks } from './absolute-links.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly repository: { readonly url: string };
}

export const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The repository's address on the web. */
export const repository: string = manifest.repository.url.replace(/^git\+|\.git$/g, '');

/** A package as it is published. */
export interface Packed {
  readonly tarball: string;
  /** Paths of its files. */
  readonly files: readonly string[];
}

/**
 * Makes the package of what is built, as a tarball in `folder`. It is packed from a copy, since what is published differs in two things:
 * links to files that are not in it lead to the repository, and it has no scripts, which are for this repository only.
 */
export function pack(folder: string): Packed {
  const files = npmPack(root, '--dry-run').files.map(({ path }) => path);
  const copy = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
  try {
    const shipped = { files, repository, ref: `v${manifest.version}` };
    for (const file of files) {
      const target = join(copy, file);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(join(root, file), target);
      if (file.endsWith('.md'))
        writeFileSync(target, withAbsoluteLinks(file, readFileSync(target, 'utf8'), shipped));
    }
    const { scripts, devDependencies, overrides, allowScripts, ...published } = manifest as Manifest &
      Record<string, unknown>;
    writeFileSync(join(copy, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
    const { filename } = npmPack(copy, '--pack-destination', folder);
    return { tarball: join(folder, filename), files };
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function npmPack(
  cwd: string,
  ...options: string[]
): { readonly filename: string; readonly files: readonly { readonly path: string }[] } {
  const printed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', ...options], {
    cwd,
    encoding: 'utf8',
    stdio: 'pipe',
  });
  return JSON.parse(printed)[0];
}
