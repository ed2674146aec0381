import { PatternMatcher } from './pattern-matcher.ts';

/** What is to be found in a text, and what takes its place. */
export interface Replacement {
  /**
   * Matched in time linear in the text, however hostile it is, and as long as can be: without lookahead, lookbehind, back references and lazy
   * quantifiers; flags `i` and `s`, and `g`, which changes nothing.
   */
  readonly pattern: RegExp;
  /** The text in place of a match, or a function that returns it; undefined leaves the match as it is. */
  readonly replace: string | ((match: string) => string | undefined);
}

/** A match, and the text in its place. */
export interface ReplacedSpan {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What is certain of a text. */
export interface ScannedText {
  readonly spans: readonly ReplacedSpan[];
  /** Where a match may begin that the text is too short to tell. */
  readonly until: number;
}

const none: readonly ReplacedSpan[] = [];

/** Finds the matches of all replacements in texts that may come in pieces. */
export class TextReplacer {
  readonly #replacements: readonly Replacement[];
  readonly #window: number;
  readonly #matcher: PatternMatcher;
  #loose: PatternMatcher | undefined;

  /** Throws an Error for a pattern that cannot be matched in linear time. */
  constructor(replacements: readonly Replacement[], window: number) {
    this.#replacements = replacements;
    this.#window = window;
    this.#matcher = new PatternMatcher(this.#patterns, window);
  }

  get #patterns(): RegExp[] {
    return this.#replacements.map(({ pattern }) => pattern);
  }

  /** What is replaced in `text`, up to where it is certain. `before`: the unit before it. `isEnd`: no more text will follow. */
  scan(text: string, before: number | undefined, isEnd: boolean): ScannedText {
    let spans: ReplacedSpan[] | undefined;
    for (let from = 0; from < text.length; ) {
      const match = this.#matcher.next(text, from, before, isEnd);
      if (!match) break;
      const { start, pattern } = match;
      if (match.end === undefined)
        return { spans: spans ?? none, until: isInPair(text, start) ? start - 1 : start };
      const end = isInPair(text, match.end) ? match.end + 1 : match.end;
      const { replace } = this.#replacements[pattern]!;
      const replaced = typeof replace === 'string' ? replace : replace(text.slice(start, end));
      if (replaced !== undefined) (spans ??= []).push({ start, end, text: replaced });
      from = replaced === undefined ? start + 1 : end;
    }
    return { spans: spans ?? none, until: text.length };
  }

  /**
   * Every place in `text` where a match may be: also those that overlap, that `replace` would leave as they are, or that begin or end within
   * a word. For copies of a text whose surroundings are not known.
   */
  scanLoosely(text: string, isEnd: boolean): ScannedText {
    this.#loose ??= new PatternMatcher(this.#patterns, this.#window, true);
    const spans: ReplacedSpan[] = [];
    for (let from = 0; from < text.length; from++) {
      const match = this.#loose.next(text, from, undefined, isEnd);
      if (!match) break;
      const { start, end } = match;
      if (end === undefined) return { spans, until: start };
      const last = spans.at(-1);
      if (last && last.end >= start) spans[spans.length - 1] = { ...last, end: Math.max(last.end, end) };
      else spans.push({ start, end, text: '' });
      from = start;
    }
    return { spans, until: text.length };
  }

  /** `text`, whole, with its matches replaced. */
  replaceAll(text: string): string {
    const { spans, until } = this.scan(text, undefined, true);
    return replaced(text, spans, until);
  }
}

/** The text up to `until`, with the spans replaced. */
export function replaced(text: string, spans: readonly ReplacedSpan[], until: number): string {
  let result = '';
  let from = 0;
  for (const { start, end, text: instead } of spans) {
    result += text.slice(from, start) + instead;
    from = end;
  }
  return result + text.slice(from, until);
}

/** Whether `at` is between the two units of one character. */
const isInPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && text.codePointAt(at - 1)! > 0xffff;

/** One text that comes in pieces. Holds back what may still become a match: at most as many characters as the window has. */
export interface TextMapper {
  /** Takes a piece; returns what is certain by now. */
  push(piece: string): string;
  /** Returns what was held back. More text may follow, which begins anew. */
  end(): string;
  readonly isHolding: boolean;
}

/** Maps plain text. */
export class PlainTextMapper implements TextMapper {
  readonly #replacer: TextReplacer;
  #held = '';
  #before: number | undefined;

  constructor(replacer: TextReplacer) {
    this.#replacer = replacer;
  }

  get isHolding(): boolean {
    return this.#held !== '';
  }

  push(piece: string): string {
    return this.#map(piece, false);
  }

  end(): string {
    return this.#held === '' ? '' : this.#map('', true);
  }

  #map(piece: string, isEnd: boolean): string {
    const text = this.#held + piece;
    const { spans, until } = this.#replacer.scan(text, this.#before, isEnd);
    this.#held = text.slice(until);
    if (until > 0) this.#before = text.charCodeAt(until - 1);
    return spans.length === 0 && until === text.length ? text : replaced(text, spans, until);
  }
}
