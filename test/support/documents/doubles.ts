import { type Passage, withoutLinks } from './passages.ts';

const words_of_shingle = 5;
/** Shorter passages, such as cells of a table, may be alike. */
const least_words = 10;
const largest_share = 0.6;

/** Pairs of passages that say the same in the same words: they share more than 60 % of the runs of five words of the shorter one. */
export function doublesAmong(passages: readonly Passage[]): string[] {
  const all = passages.map(shinglesOf);
  const places = new Map<string, number[]>();
  const doubles: string[] = [];
  for (const [at, shingles] of all.entries()) {
    const shared = new Map<number, number>();
    for (const shingle of shingles)
      for (const other of places.get(shingle) ?? []) shared.set(other, (shared.get(other) ?? 0) + 1);
    for (const [other, count] of shared)
      if (
        count > largest_share * Math.min(shingles.size, all[other]!.size) &&
        !areOneTable(passages[other]!, passages[at]!)
      )
        doubles.push(`${placeOf(passages[other]!)} = ${placeOf(passages[at]!)}`);
    for (const shingle of shingles) places.set(shingle, [...(places.get(shingle) ?? []), at]);
  }
  return doubles;
}

/** Rows of a page's tables may differ in one cell. */
const areOneTable = (one: Passage, other: Passage): boolean =>
  one.document === other.document && one.text.startsWith('|') && other.text.startsWith('|');

function shinglesOf({ text }: Passage): ReadonlySet<string> {
  const words =
    withoutLinks(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length < least_words) return new Set();
  return new Set(
    words.slice(words_of_shingle - 1).map((_, at) => words.slice(at, at + words_of_shingle).join(' ')),
  );
}

const placeOf = ({ document, line, text }: Passage): string => `${document}:${line} '${text.slice(0, 60)}'`;
