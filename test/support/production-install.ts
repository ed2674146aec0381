import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linkPackages, productionPackages } from './linked-packages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The sources where only the packages can be found that `npm install sluice` brings, without the optional ones. */
export interface ProductionInstall {
  readonly directory: string;
  /** What Node prints when it runs with these arguments, standard output and errors, and its exit code. */
  run(...args: string[]): Promise<{ code: number; output: string }>;
  remove(): Promise<void>;
}

/** Copies the sources, and links the packages. */
export async function productionInstall(): Promise<ProductionInstall> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-production-'));
  for (const name of ['package.json', 'sluice.example.yaml', 'bin', 'src', 'plugins'])
    await cp(join(root, name), join(directory, name), { recursive: true });
  linkPackages(productionPackages(), join(directory, 'node_modules'));
  const run = (...args: string[]): Promise<{ code: number; output: string }> =>
    new Promise(resolve => {
      const node = ['--conditions=sluice-source', '--no-warnings', ...args];
      execFile(process.execPath, node, { cwd: directory }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      );
    });
  return { directory, run, remove: () => rm(directory, { recursive: true }) };
}
