import { read } from './blocks.ts';
import { passagesWithTables, patternOf, withoutLinks } from './passages.ts';

/** A sentence's words with `{}` in place of each number, and what the code has there. */
export interface Bound {
  readonly says: string;
  readonly is: number | readonly number[];
}

const small = 'one two three four five six seven eight nine ten eleven twelve'.split(' ');
const words: Readonly<Record<string, number>> = {
  ...Object.fromEntries(small.map((word, at) => [word, at + 1])),
  ...{ fifteen: 15, twenty: 20, thirty: 30, sixty: 60, hundred: 100, thousand: 1000 },
  ...{
    once: 1,
    twice: 2,
    half: 1 / 2,
    third: 1 / 3,
    quarter: 1 / 4,
    fifth: 1 / 5,
    eighth: 1 / 8,
    tenth: 1 / 10,
  },
};

const units =
  'µs|ms|milliseconds?|s|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|kB|KiB|MB|MiB|GB|GiB|bytes?|%|per cent|' +
  'requests?|attempts?|rounds?|retries|calls|connections?|exchanges|events?|streams?|models|choices|parts|messages|' +
  'rows?|characters?|digits?|decimal|hexadecimal|tokens?|names|values|keys?|accounts?|users?|series|files?|dollars?|cents?';
const digits = '\\d[\\d,.]*\\d|[1-9]';
const spelled = Object.keys(words).slice(1).join('|');
/** One is a number in front of units of time only, and an article elsewhere. */
const amount = `(?<![\\w.$:/~^-])(?:${digits}|(?:${spelled}|one(?= (?:second|minute|hour|day)s?\\b))\\b)`;
/** Several with one unit, such as "50, 80 and 100 %". */
const amounts = `${amount}(?:(?:, | and | or | to |–)${amount})*`;
const limits = '[Aa]t most|[Aa]t least|[Uu]p to|[Mm]ore than|[Ll]ess than|[Ff]ewer than|[Ww]ithin';
/** Words behind digits that are no unit, and "times", which compares. */
const joined =
  'a|after|again|an|and|are|as|at|before|behind|but|by|elsewhere|for|from|has|if|in|is|of|on|or|so|the|then|times|to|until|when|where|while|with|without';
/** The ways in which sentences claim a number. Those after the first have no unit, and need a look at what else the number can be. */
const claims = [
  new RegExp(`${amounts}(?: an?)?(?: |-)(?:${units})(?![\\w/])`, 'g'),
  new RegExp(`(?<!\\w)(?:${limits}) (?:the |an? )?${amounts}(?![\\w/])`, 'g'),
  new RegExp(`${amount}(?= by default| without it)`, 'g'),
  new RegExp(`(?<![\\w.$:/~^-])(?:${digits}) (?!(?:${joined})\\b)[a-z]+`, 'g'),
];

/** Statuses of HTTP, which docs/reference/errors.md has from the code. */
const statuses = /^(?:[245]\d\d|10[01])$/;
/** Names with a version, which test/unit/compatibility.test.ts holds: "Node 24", "Express 4 or 5". */
const versions = new RegExp(`[A-Z][a-z.]+ (?:below )?${amounts}`, 'g');

/** The ways in which a number is written. */
const waysOf = (value: number): string[] => [
  value.toLocaleString('en-US'),
  String(value),
  ...Object.keys(words).filter(word => words[word] === value),
];

/** A regular expression for the sentence of a bound. */
function sentenceOf({ says, is }: Bound): RegExp {
  const values = [is].flat();
  const parts = says.split('{}').map(patternOf);
  if (parts.length !== values.length + 1) throw new Error(`not as many numbers as {}: ${says}`);
  const ways = values.map(value => `(?:${waysOf(value).map(patternOf).join('|')})`);
  return new RegExp(parts.map((part, at) => `${part}${ways[at] ?? ''}`).join(''), 'gi');
}

type Range = readonly [from: number, to: number];

const rangesOf = (text: string, pattern: RegExp): Range[] =>
  [...text.matchAll(pattern)].map(({ index, 0: { length } }) => [index, index + length]);

const isWithin = (range: Range, others: readonly Range[]): boolean =>
  others.some(([from, to]) => from <= range[0] && range[1] <= to);

/** Where a text claims numbers, outside of code and dates. */
function claimsOf(text: string): Range[] {
  const left = [/`[^`]*`/g, /\d{4}-\d\d-\d\d/g].flatMap(pattern => rangesOf(text, pattern));
  const named = rangesOf(text, versions);
  const found = new Map<number, Range>();
  const last = claims.length - 1;
  for (const [at, pattern] of claims.entries())
    for (const [from, to] of rangesOf(text, pattern))
      for (const [start, end] of rangesOf(
        text.slice(from, to),
        new RegExp(at === last ? digits : amount, 'g'),
      )) {
        const range: Range = [from + start, from + end];
        const isOther =
          at > 0 && (statuses.test(text.slice(...range)) || (at === last && isWithin(range, named)));
        if (!isOther && !isWithin(range, left)) found.set(range[0], range);
      }
  return [...found.values()];
}

/** The passages of a document without addresses, numbers of lists, what a picture shows, and the words of a link to another site, which is their source. */
const passagesToRead = (document: string, markdown: string) =>
  // The table of estimates has what was measured.
  passagesWithTables(document, markdown, 'estimator').map(({ line, text }) => ({
    line,
    text: withoutLinks(text.replace(/!\[[^\]]*\]\([^)]*\)|\[[^\]]*\]\(https?:[^)]*\)/g, '_'))
      .replace(/https?:\S+/g, '_')
      .replace(/^\d+\. /, ''),
  }));

/** Which of `bounds` a document has, and its numbers with a unit, or behind words such as "at most", that none of them has, each as `document:line: words around it`. */
export function comparedNumbers(
  document: string,
  bounds: readonly Bound[],
  markdown: string = read(document),
): { readonly unbound: readonly string[]; readonly met: ReadonlySet<Bound> } {
  const sentences = bounds.map(bound => [bound, sentenceOf(bound)] as const);
  const met = new Set<Bound>();
  const unbound = passagesToRead(document, markdown).flatMap(({ line, text }) => {
    const covered = sentences.flatMap(([bound, sentence]) => {
      const ranges = rangesOf(text, sentence);
      if (ranges.length > 0) met.add(bound);
      return ranges;
    });
    return claimsOf(text)
      .filter(range => !isWithin(range, covered))
      .map(([from, to]) => `${document}:${line}: ${text.slice(Math.max(0, from - 50), to + 25)}`);
  });
  return { unbound, met };
}
