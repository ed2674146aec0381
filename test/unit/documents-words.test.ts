import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { documents, read, root } from '../support/documents/blocks.ts';
import { anchorsOf, brokenLinks, proseOf } from '../support/documents/links.ts';

const written = [...documents, ...globSync('{CHANGELOG,SECURITY}.md', { cwd: root })];

/** Names of earlier days, for which the field has a word. */
const ownNames = [
  'Desk|Doorkeeper|once-more|Passage|ChainHouse|under-way|FlowingStream|Seam|client-words|held-limits|skeleton',
  'seen-model|turn-memory|NobodyToAsk|ModelRoute|AttemptPermit|Standing|Habit|roughPrompt|FeedGate|StreamIntake',
  'SteadyEvent|Pulse|LocalShare|GuardedState|SlowDown|when_state_is_out|known_keys_ms|when_unusable',
];

/** Turns of phrase that must be read twice. */
const riddles = [
  'nobody|whoever|somebody|whosoever|whom|(?:is|are) told|that is nothing either|bought tokens|left alone for',
  'ways? in$|tells? the truth|the last word on|is well$|has no words for|all free again|it is said that|as it were',
];

const forbidden = new RegExp(`(?<![\\w-])(?:${[...ownNames, ...riddles].join('|')})(?![\\w-])`, 'gim');

/** Forbidden words in the prose of a document: each as `document:line: word`. */
const wordsIn = (document: string, markdown: string): string[] =>
  proseOf(markdown)
    .split('\n')
    .flatMap((text, at) => [...text.matchAll(forbidden)].map(([word]) => `${document}:${at + 1}: ${word}`));

describe('the documents', () => {
  it('use the words of the field', () => {
    const current = written.filter(document => document !== 'CHANGELOG.md');
    expect(current.flatMap(document => wordsIn(document, read(document)))).toEqual([]);
  });

  it('are checked: a forbidden word is reported at its line, and none in code', () => {
    const text = 'Nobody reads it.\n\n```ts\nconst nobody = 1;\n```\n\nThe `Desk` and the Pulse are told.\n';
    expect(wordsIn('sample.md', text)).toEqual([
      'sample.md:1: Nobody',
      'sample.md:7: Pulse',
      'sample.md:7: are told',
    ]);
  });

  it('link to files and headings that exist', () => {
    expect(written.flatMap(document => brokenLinks(document))).toEqual([]);
  });

  it('are checked: a link that leads nowhere is reported at its line', () => {
    const text =
      '# One\n\n[a](#one) [b](#two) [c](docs/gone.md)\n\n[d](README.md#gone) `[e](no-link.md)` <img src="gone.png">\n';
    expect(brokenLinks('sample.md', text)).toEqual([
      'sample.md:3: #two, no such heading',
      'sample.md:3: docs/gone.md, no such file',
      'sample.md:5: README.md#gone, no such heading',
      'sample.md:5: gone.png, no such file',
    ]);
  });

  it('are where the code, its messages and the alerts say that they are', () => {
    const files = globSync('{src,plugins,grafana,examples,bin}/**/*.{ts,js,cjs,yaml,json}', { cwd: root });
    const named = files.flatMap(file =>
      [...read(file).matchAll(/\bdocs\/[\w-]+\.md(?:#([\w-]+))?/g)].map(([target, anchor]) => ({
        file,
        target,
        anchor,
      })),
    );
    expect(named.length).toBeGreaterThan(5);
    const lost = named.filter(({ target, anchor }) => {
      const [path = ''] = target.split('#');
      return !existsSync(join(root, path)) || (anchor !== undefined && !anchorsOf(read(path)).has(anchor));
    });
    expect(lost).toEqual([]);
  });
});
