/** Inclusive ranges of UTF-16 code units, as pairs of their ends. */
export type Ranges = readonly (readonly [from: number, to: number])[];

export type Assertion = '^' | '$' | '\\b' | '\\B';

/** A regular expression as a tree. */
export type PatternNode =
  | { readonly kind: 'characters'; readonly ranges: Ranges }
  | { readonly kind: 'assertion'; readonly is: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly of: PatternNode; readonly min: number; readonly max: number };

const last_unit = 0xffff;
const digits: Ranges = [[48, 57]];
export const wordCharacters: Ranges = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
];
const spaces: Ranges = [...'\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff']
  .map((space): [number, number] => [space.charCodeAt(0), space.charCodeAt(0)])
  .concat([[0x2000, 0x200a]]);
const lineEnds: Ranges = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];
const classes: Readonly<Record<string, Ranges>> = { d: digits, w: wordCharacters, s: spaces };
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/**
 * The tree of a regular expression. Throws an Error for what cannot be matched in time linear in the text, or not in a stream: lookahead and
 * lookbehind, back references, lazy quantifiers, and flags other than `g`, `i` and `s`.
 */
export function parsePattern(pattern: RegExp): PatternNode {
  return new PatternParser(pattern).parse();
}

class PatternParser {
  readonly #pattern: RegExp;
  readonly #source: string;
  #at = 0;

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
    this.#source = pattern.source;
    const flag = /[^gis]/.exec(pattern.flags)?.[0];
    if (flag) throw this.#refused(`the flag ${flag}`);
  }

  parse(): PatternNode {
    return this.#choice();
  }

  #choice(): PatternNode {
    const options: PatternNode[] = [];
    do {
      const parts: PatternNode[] = [];
      while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at]!))
        parts.push(this.#quantified(this.#atom()));
      options.push(parts.length === 1 ? parts[0]! : { kind: 'sequence', parts });
    } while (this.#take('|'));
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  }

  #quantified(of: PatternNode): PatternNode {
    const [text, sign, low, comma, high] = this.#match(/([*+?])|\{(\d+)(,)?(\d*)\}/y) ?? [];
    if (text === undefined) return of;
    if (this.#take('?')) throw this.#refused(`the lazy quantifier ${text}?; matches are as long as can be`);
    if (sign) return { kind: 'repeat', of, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    const max = comma ? (high ? Number(high) : Infinity) : Number(low);
    return { kind: 'repeat', of, min: Number(low), max };
  }

  #atom(): PatternNode {
    const sign = this.#source[this.#at++]!;
    if (sign === '(') return this.#group();
    if (sign === '[') return this.#charactersOf(this.#class());
    if (sign === '^' || sign === '$') return { kind: 'assertion', is: sign };
    if (sign === '.')
      return { kind: 'characters', ranges: this.#pattern.dotAll ? [[0, last_unit]] : inverted(lineEnds) };
    if (sign !== '\\') return this.#charactersOf(single(sign.charCodeAt(0)));
    const escaped = this.#source[this.#at]!;
    if (escaped === 'b' || escaped === 'B') {
      this.#at++;
      return { kind: 'assertion', is: `\\${escaped}` };
    }
    return this.#charactersOf(this.#escape());
  }

  #group(): PatternNode {
    const look = this.#match(/\?(?:<?[=!]|[ims-]+:)/y)?.[0];
    if (look) throw this.#refused(`(${look}…)`);
    this.#match(/\?(?::|<[^>]*>)/y);
    const inside = this.#choice();
    this.#at++;
    return inside;
  }

  #class(): Ranges {
    const isInverted = this.#take('^');
    const ranges: (readonly [number, number])[] = [];
    while (!this.#take(']')) {
      const first = this.#classMember();
      const isRange = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']';
      if (!isRange || first.length !== 1) {
        ranges.push(...first);
        continue;
      }
      this.#at++;
      const end = this.#classMember();
      if (end.length === 1) ranges.push([first[0]![0], end[0]![1]]);
      else ranges.push(...first, ...single(45), ...end);
    }
    const all = this.#pattern.ignoreCase ? bothCases(ranges) : ranges;
    return isInverted ? inverted(all) : all;
  }

  #classMember(): Ranges {
    const sign = this.#source[this.#at++]!;
    if (sign !== '\\') return single(sign.charCodeAt(0));
    if (this.#take('b')) return single(8);
    return this.#escape();
  }

  /** What the escape after a backslash stands for. */
  #escape(): Ranges {
    const code = this.#match(/x([\da-fA-F]{2})|u([\da-fA-F]{4})/y);
    if (code) return single(Number.parseInt(code[1] ?? code[2]!, 16));
    const escaped = this.#source[this.#at++]!;
    if (/[1-9kcpP]/.test(escaped)) throw this.#refused(`\\${escaped}`);
    const known = classes[escaped.toLowerCase()];
    if (known) return escaped === escaped.toLowerCase() ? known : inverted(known);
    return single(controls[escaped] ?? escaped.charCodeAt(0));
  }

  #charactersOf(ranges: Ranges): PatternNode {
    return { kind: 'characters', ranges: this.#pattern.ignoreCase ? bothCases(ranges) : ranges };
  }

  #take(sign: string): boolean {
    if (this.#source[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source);
    if (found) this.#at = expression.lastIndex;
    return found;
  }

  #refused(what: string): Error {
    return new Error(
      `${this.#pattern} cannot be matched in a stream: ${what}. Accepted are characters, classes, groups, |, *, +, ?, {n,m}, ^, $ and \\b, with the flags g, i and s`,
    );
  }
}

const single = (unit: number): Ranges => [[unit, unit]];

function inverted(ranges: Ranges): Ranges {
  const rest: [number, number][] = [];
  let from = 0;
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    if (start > from) rest.push([from, start - 1]);
    from = Math.max(from, end + 1);
  }
  if (from <= last_unit) rest.push([from, last_unit]);
  return rest;
}

/** The ranges with the other case of each letter; of letters beyond ASCII, in ranges of up to 512. */
function bothCases(ranges: Ranges): Ranges {
  const all: (readonly [number, number])[] = [...ranges];
  for (const [from, to] of ranges) {
    const end = to - from > 512 ? Math.min(to, 127) : to;
    for (let unit = from; unit <= end; unit++) {
      const character = String.fromCharCode(unit);
      for (const other of [character.toLowerCase(), character.toUpperCase()])
        if (other.length === 1 && other !== character) all.push(...single(other.charCodeAt(0)));
    }
  }
  return all;
}
