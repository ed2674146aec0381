import { capital_bit, capital_shares, kindOf, kinds, shares } from './token-shares.ts';

/** Counts the tokens of growing text, exactly or not. */
export interface TokenCounter {
  add(text: string): void;
  readonly tokens: number;
}

const { plain, vietnamese, combining, digit, space, line, mark, control, other } = kinds;
/** Scripts that put spaces between words, as Latin does. */
const spaced: ReadonlySet<number> = new Set([
  kinds.greek,
  kinds.cyrillic,
  kinds.arabic,
  kinds.indic,
  kinds.hangul,
]);
/** Characters that a word has at most: behind these nothing is one, and each UTF-8 byte of a letter beyond ASCII has its share. */
const longest_word = 32;
const byte_share = 0.5;
/** Latin letters after the last accented one that are still taken for its language. */
const memory_letters = 128;
/** Added by a capital within a word, which begins another token: camelCase. */
const camel_share = 0.66;
/** Added by each accented letter from the third in a row on, which no language writes. */
const accents_share = 1.1;
/** Marks that the tokenizer has no runs of, and what one adds to a run of itself. */
const single_marks = new Set([...'"\'(),[]{}\\|`&$'].map(mark => mark.charCodeAt(0)));
const single_share = 0.2;
/** Upper bound of the average per character, for any text. */
export const max_tokens_per_character = 2;

/**
 * Default estimator, without a dependency. Its count does not depend on how the text is cut into pieces, and never decreases. A word is a token
 * with the space before it, and more if it is long or its language is rarer in the tokenizer's training.
 */
export class TokenEstimator implements TokenCounter {
  #tokens = 0;
  /** Of the last character: its kind, its code unit and its place in the run of its kind. */
  #kind = other;
  #unit = 0;
  #run = 0;
  /** The Latin kind whose shares are used, and the Latin letters since it was seen. */
  #language = plain;
  #letters = 0;
  /** Accented letters in a row. */
  #accents = 0;

  add(text: string): void {
    let tokens = this.#tokens;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const entry = kindOf[unit] as number;
      const isCapital = entry >= capital_bit;
      const kind = isCapital ? entry - capital_bit : entry;
      if (entry === plain && this.#language === plain) {
        // Most letters of most texts. Without this a streamed event would take a tenth more calls.
        this.#letters = 0;
        this.#accents = 0;
        this.#run = this.#kind <= combining ? this.#run + 1 : 1;
        tokens += plain_shares[Math.min(this.#run, 9)] as number;
      } else if (kind === space && this.#kind !== space) {
        // A word has the space before it.
        this.#accents = 0;
        this.#run = 1;
      } else if (kind <= vietnamese) tokens += this.#latinShare(unit, kind, isCapital);
      else {
        this.#accents = 0;
        this.#run = kind === this.#kind ? this.#run + 1 : 1;
        tokens += this.#share(unit, kind);
        if (isCapital && this.#run === 1) tokens += capital_shares[kind] as number;
      }
      this.#kind = kind;
      this.#unit = unit;
    }
    this.#tokens = tokens;
  }

  get tokens(): number {
    return Math.ceil(this.#tokens);
  }

  #latinShare(unit: number, kind: number, isCapital: boolean): number {
    this.#letters++;
    this.#accents = kind === plain ? 0 : this.#accents + 1;
    if (kind >= this.#language || this.#letters > memory_letters) {
      this.#language = kind;
      this.#letters = 0;
    }
    const isCamel = isCapital && this.#unit >= 0x61 && this.#unit <= 0x7a;
    const isWithinWord = this.#kind <= combining && !isCamel;
    this.#run = isWithinWord ? this.#run + 1 : 1;
    if (this.#accents > 2) return accents_share;
    if (this.#run > longest_word) return kind === plain ? shareOf(plain, this.#run) : bytesShare(unit);
    const share = isCamel ? camel_share : shareOf(this.#language, this.#run);
    return isCapital && !isWithinWord ? share + (capital_shares[kind] as number) : share;
  }

  #share(unit: number, kind: number): number {
    const run = this.#run;
    switch (kind) {
      // Up to three digits are a token, and the space before them is another.
      case digit:
        return run % 3 !== 1 ? 0 : this.#kind === space ? 1.95 : 1.1;
      // Runs of white space are tokens of 128 spaces, 16 tabs or line feeds, or 8 others.
      case space:
        if (run <= 2) return run === 2 ? 0.63 : 0;
        if (unit !== this.#unit) return byte_share;
        return unit === 0x20 ? 0.008 : unit === 0x09 ? 0.06 : 0.12;
      case line:
        if (run <= 2) return run === 1 ? 0.69 : 0;
        return unit === this.#unit && unit !== 0x0a ? byte_share : 0.065;
      case mark:
        return this.#markShare(unit, run);
      case control:
        return unit === this.#unit ? bytesShare(unit) : 0.95;
      default:
        if (run > longest_word && spaced.has(kind)) return bytesShare(unit);
        return shareOf(kind, run);
    }
  }

  #markShare(unit: number, run: number): number {
    if (run === 1) return this.#kind === space ? 0.87 : 0.65;
    if (unit === this.#unit) {
      if (unit > 0x7f) return bytesShare(unit);
      return run > 4 && single_marks.has(unit) ? single_share : 0.03;
    }
    return run > 5 ? 0.45 : 0.25;
  }
}

/** The share of a code unit by its UTF-8 bytes. */
const bytesShare = (unit: number): number => byte_share * (unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3);

/** What the `run`-th consecutive plain letter adds, up to the ninth, after which all add the same. */
const plain_shares = Array.from({ length: 10 }, (_, run) => shareOf(plain, run));

/** What the `run`-th consecutive character of a kind adds. */
function shareOf(kind: number, run: number): number {
  return shares[4 * kind + (run === 1 ? 0 : run <= 4 ? 1 : run <= 8 ? 2 : 3)] as number;
}
