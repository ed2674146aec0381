import { describe, expect, it } from '@jest/globals';
import { documents, read } from '../support/documents/blocks.ts';
import { writtenByHand } from '../support/documents/passages.ts';

const docs = documents.filter(page => page.startsWith('docs/'));
const explanations = docs.filter(page => page.startsWith('docs/explanation/'));

const largest_bytes = 250_000;
/** About a page. That of security lists promises, of which each has a sentence. */
const largest_words = 750;
const longer = { 'docs/explanation/security.md': 1000 } as Readonly<Record<string, number>>;

const bytesOf = (page: string): number =>
  Buffer.byteLength(writtenByHand(read(page)).replace(/\n{3,}/g, '\n\n'));
const wordsOf = (page: string): number => writtenByHand(read(page)).match(/[\p{L}\p{N}]\S*/gu)?.length ?? 0;
const picturesOf = (page: string): number => read(page).match(/!\[[^\]]*\]\([^)]+\)|<img\b/g)?.length ?? 0;

describe('the documents', () => {
  it('have at most 250 kB that are written by hand', () => {
    const sizes = docs.map(page => [bytesOf(page), page] as const).toSorted(([a], [b]) => b - a);
    const all = sizes.reduce((sum, [bytes]) => sum + bytes, 0);
    expect(all > largest_bytes ? [all, ...sizes.slice(0, 10)] : []).toEqual([]);
  });

  it('explain on one page with a picture', () => {
    const found = explanations.map(page => ({ page, words: wordsOf(page), pictures: picturesOf(page) }));
    expect(
      found.filter(({ page, words, pictures }) => words > (longer[page] ?? largest_words) || pictures === 0),
    ).toEqual([]);
  });
});
