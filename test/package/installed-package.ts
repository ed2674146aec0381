import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What the tests of users need beside the package: a compiler, and Express with its types. */
const beside = ['express', 'typescript', '@types/express', '@types/node'];

/** A project that has the package as it would be published, and no other package of this repository than those that npm installs with it. */
export interface Project {
  readonly directory: string;
  /** Paths of all files in the package. */
  readonly files: readonly string[];
}

/** Packs what `npm run build` has written, and unpacks it into a new project in the folder for temporary files. */
export function installedPackage(): Project {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-package-'));
  const place = (name: string) => join(directory, 'node_modules', name);
  const npm = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory];
  const [packed] = JSON.parse(execFileSync('npm', npm, { cwd: root, encoding: 'utf8', stdio: 'pipe' }));
  execFileSync('tar', ['-xzf', join(directory, packed.filename), '-C', directory]);
  mkdirSync(place(''), { recursive: true });
  cpSync(join(directory, 'package'), place('sluice'), { recursive: true });
  for (const name of [...productionPackages(), ...beside]) {
    mkdirSync(dirname(place(name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), place(name));
  }
  return { directory, files: packed.files.map(({ path }: { path: string }) => path) };
}

/** Names of the packages that `npm install sluice` installs, without optional ones. */
export function productionPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  };
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional, optional }]) => path !== '' && !dev && !devOptional && !optional,
  );
  return installed.map(([path]) => path.replace(/^node_modules\//, ''));
}
