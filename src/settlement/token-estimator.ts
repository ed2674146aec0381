/** Counts the tokens of growing text, exactly or not. */
export interface TokenCounter {
  add(text: string): void;
  readonly tokens: number;
}

/** Kind of character for the estimate. `letter` is accented, or of an alphabet other than the Latin. */
type Kind =
  | 'start'
  | 'latin'
  | 'letter'
  | 'digit'
  | 'space'
  | 'line'
  | 'mark'
  | 'ideograph'
  | 'wide'
  | 'symbol';

function kindOf(unit: number): Kind {
  if (unit >= 0x80) {
    if (unit >= 0x2e80 && unit <= 0xd7ff) return 'ideograph';
    if (unit >= 0xff00 && unit <= 0xffef) return 'wide';
    return unit >= 0x2000 && unit <= 0x2bff ? 'symbol' : 'letter';
  }
  if ((unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a) return 'latin';
  if (unit >= 0x30 && unit <= 0x39) return 'digit';
  if (unit === 0x20 || unit === 0x09) return 'space';
  return unit === 0x0a || unit === 0x0d ? 'line' : 'mark';
}

/**
 * Tokens that the `run`-th consecutive character of a kind adds: a word is a token with the space before it, a long one more; three digits
 * are one. Fitted to o200k over prose in English, Russian and Chinese, JavaScript, TypeScript and Python: of 646 excerpts of 900 characters
 * all of prose, JavaScript and TypeScript and 98 % of Python are within 15 %.
 */
function shareOf(kind: Kind, run: number, before: Kind): number {
  switch (kind) {
    case 'latin':
      return run === 1 ? 0.965 : run > 9 ? 0.3 : 0;
    case 'letter':
      return run === 1 ? 1.01 : run > 7 ? 0.16 : 0.09;
    case 'digit':
      return run % 3 === 1 ? (run === 1 && before === 'space' ? 2.2 : 1.2) : 0;
    case 'space':
      return run === 2 ? 0.635 : 0;
    case 'line':
      return run === 1 ? 0.7 : 0;
    case 'mark':
      return run === 1 ? 0.764 : 0.261;
    case 'ideograph':
      return 0.7;
    case 'symbol':
      return 0.46;
    default:
      return 1;
  }
}

/** Upper bound of the average per character, for any text. */
export const max_tokens_per_character = 1.105;
/** Added for a capital within a word, which begins another token: camelCase. */
const camel_share = 0.476;

/** Default estimator, without a dependency. Its count does not depend on how the text is cut into pieces, and never decreases. */
export class TokenEstimator implements TokenCounter {
  #tokens = 0;
  #last: Kind = 'start';
  #wasLower = false;
  #run = 0;

  add(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const kind = kindOf(unit);
      const isLower = unit >= 0x61 && unit <= 0x7a;
      const camel = kind === 'latin' && this.#wasLower && !isLower;
      const before = this.#last;
      this.#run = kind === before && !camel ? this.#run + 1 : 1;
      this.#tokens += camel ? camel_share : shareOf(kind, this.#run, before);
      this.#last = kind;
      this.#wasLower = isLower;
    }
  }

  get tokens(): number {
    return Math.ceil(this.#tokens);
  }
}
