import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A package as package-lock.json has it. */
type Locked = Readonly<Record<'dev' | 'devOptional' | 'optional', boolean | undefined>>;

/** The packages that are not nested in others, by name. */
export function lockedPackages(): [name: string, Locked][] {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8');
  return Object.entries((JSON.parse(text) as { packages: Record<string, Locked> }).packages).flatMap(
    ([path, entry]): [string, Locked][] => {
      const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
      return name === undefined ? [] : [[name, entry]];
    },
  );
}

/** Names of the packages that `npm install sluice` installs, without optional ones. */
export const productionPackages = (): string[] =>
  lockedPackages().flatMap(([name, { dev, devOptional, optional }]) =>
    dev || devOptional || optional ? [] : [name],
  );

/** Links packages into `folder`; they find their own dependencies where they really are. */
export function linkPackages(names: readonly string[], folder: string): void {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(folder, name));
  }
}
