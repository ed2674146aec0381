import { readFileSync } from 'node:fs';

/** The version in a package.json. */
export function versionIn(file: string | URL): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** The installed version of one of this repository's dependencies. */
export const versionOf = (name: string): string =>
  versionIn(new URL(`../../../node_modules/${name}/package.json`, import.meta.url));
