import { blocksOf, read } from './blocks.ts';
import { passagesOf, patternOf, withoutLinks } from './passages.ts';

/** A sentence's words with `{}` in place of a number, and what the code has there. */
export interface Bound {
  readonly says: string;
  readonly is: number;
}

const small = [
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
];
const spelled: Readonly<Record<string, string>> = { 15: 'fifteen', 20: 'twenty', 30: 'thirty', 60: 'sixty' };

const units =
  'ms|milliseconds?|s|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|kB|KiB|MB|MiB|GB|GiB|bytes?|%|per cent|requests?|rows?|characters?|tokens?|attempts?|connections?';
const amount = `(?:\\d[\\d,.]*\\d|\\d|${[...small.slice(1), ...Object.values(spelled)].join('|')})`;
const claim = new RegExp(`(?<![\\w.$:/~^-])${amount}(?: |-| )?(?:${units})(?![\\w/])`, 'g');

/** The ways in which a number is written. */
function waysOf(value: number): string[] {
  const digits = [value.toLocaleString('en-US'), String(value)];
  const word = small[value - 1] ?? spelled[value];
  return word === undefined ? digits : [...digits, word];
}

/** Text in which a number can be a claim: without addresses. */
const claimed = (text: string): string => withoutLinks(text).replace(/https?:\S+/g, '_');

/** Numbers with a unit in a document that no bound sentence has: each as `document:line: words around it`. */
export function unboundNumbers(
  document: string,
  bounds: readonly Bound[],
  markdown: string = read(document),
): string[] {
  const sentences = bounds.flatMap(({ says, is }) => waysOf(is).map(way => says.replace('{}', way)));
  const ofBlocks = numbersOfBlocks(document, markdown);
  return passagesOf(document, markdown).flatMap(({ line, text: written }) => {
    const text = claimed(written);
    const covered = sentences.flatMap(sentence =>
      [...text.matchAll(new RegExp(patternOf(sentence), 'gi'))].map(
        ({ index }) => [index, index + sentence.length] as const,
      ),
    );
    for (const {
      index,
      0: { length },
    } of text.matchAll(/`[^`]*`/g))
      covered.push([index, index + length]);
    return [...text.matchAll(claim)]
      .filter(([said]) => !ofBlocks.has(numberIn(said)))
      .filter(
        ({ index, 0: { length } }) => !covered.some(([from, to]) => from <= index && index + length <= to),
      )
      .map(({ index, 0: { length } }) => {
        const around = text.slice(Math.max(0, index - 50), index + length + 20);
        return `${document}:${line}: ${around}`;
      });
  });
}

/** Numbers that stand in the blocks of a recipe or of the tutorial, which are run: its text says them again. */
function numbersOfBlocks(document: string, markdown: string): ReadonlySet<number> {
  if (!/how-to|tutorial/.test(document)) return new Set();
  const code = blocksOf(document, markdown)
    .map(block => block.code)
    .join('\n');
  return new Set(code.match(/\d[\d_]*(?:\.\d+)?/g)?.map(digits => Number(digits.replaceAll('_', ''))));
}

/** The number with which a claim begins. */
function numberIn(said: string): number {
  const [word = ''] = /^[\d,.]*\d|^\w+/.exec(said) ?? [];
  const inWords = [...small.entries()].find(([, name]) => name === word)?.[0];
  const large = Object.entries(spelled).find(([, name]) => name === word)?.[0];
  if (inWords !== undefined) return inWords + 1;
  return Number(large ?? word.replaceAll(',', ''));
}

const factors: Readonly<Record<string, number>> = {
  second_ms: 1000,
  minute_ms: 60_000,
  hour_ms: 3_600_000,
  day_ms: 86_400_000,
};

/** The number that a constant or a field of a source file is set to, such as `5_000` or `90 * day_ms`. */
export function constantIn(file: string, name: string): number {
  const pattern = new RegExp(`(?<![\\w.])${name}(?:: \\w+)?(?: =|:) (-?[\\w.]+(?: \\* \\w+)*)`);
  const [, written] = pattern.exec(read(file)) ?? [];
  if (written === undefined) throw new Error(`${file} has no number ${name}`);
  return written
    .split(' * ')
    .map(part => factors[part] ?? Number(part.replaceAll('_', '')))
    .reduce((product, part) => product * part, 1);
}
