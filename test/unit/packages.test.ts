import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> };
const { packages } = read('package-lock.json') as {
  packages: Record<
    string,
    { resolved?: string; hasInstallScript?: boolean; dev?: boolean; license?: string }
  >;
};
const installed = Object.entries(packages).filter(([path]) => path !== '');
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

describe('the packages', () => {
  it('have no install script that was not decided upon', () => {
    const scripts = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => nameOf(path));
    expect(scripts.toSorted()).toEqual(Object.keys(allowScripts).toSorted());
  });

  it('come from the public registry', () => {
    const places = installed.flatMap(([, { resolved }]) => resolved ?? []);
    expect(places.filter(place => !place.startsWith('https://registry.npmjs.org/'))).toEqual([]);
  });

  it('have licences that let anyone use what is built with them', () => {
    const free = /^\(?(MIT|Apache-2\.0|ISC|BSD-[23]-Clause|BlueOak-1\.0\.0|0BSD)\b|\bOR BSD-3-Clause\)$/;
    const others = installed.filter(([, { license = '' }]) => !free.test(license));
    // Data that tests need and nothing that is published has.
    expect(others.map(([path, { dev }]) => [nameOf(path), dev])).toEqual([['caniuse-lite', true]]);
  });
});
