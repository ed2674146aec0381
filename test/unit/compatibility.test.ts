import { describe, expect, it } from '@jest/globals';
import { read } from '../support/documents/blocks.ts';

const page = read('docs/reference/compatibility.md');
const { engines, peerDependencies } = JSON.parse(read('package.json')) as {
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
};

describe('the page about versions', () => {
  it('says which versions package.json asks for', () => {
    const rows = Object.fromEntries(
      [...page.matchAll(/^\| `?([^`|]+?)`? \| `(.+?)` \|/gm)].map(([, name, range]) => [
        name,
        range!.replaceAll('\\|', '|'),
      ]),
    );
    expect(rows).toEqual({ Node: engines.node, ...peerDependencies });
  });
});
