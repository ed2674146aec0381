import { isObject, type Json } from '../../../../src/plugin.ts';
import type { TextReplacer } from './text-replacer.ts';
import { TokenMapper } from './token-mapper.ts';

const lists = ['content', 'refusal'] as const;

/** Maps the `logprobs` of one choice, in OpenAI's form: lists of tokens. Drops other forms, which cannot be told from the text. */
export class LogprobsMapper {
  readonly #tokens: Readonly<Record<(typeof lists)[number], TokenMapper>>;
  #isUnreadable = false;

  constructor(replacer: TextReplacer) {
    this.#tokens = { content: new TokenMapper(replacer), refusal: new TokenMapper(replacer) };
  }

  get isHolding(): boolean {
    return lists.some(list => this.#tokens[list].isHolding);
  }

  /** Drops what is held and all that comes: tokens that spell escapes do not read as the text that they stand for. */
  drop(): void {
    this.#isUnreadable = true;
    for (const list of lists) this.#tokens[list].drop();
  }

  /** Takes one `logprobs`, or none; returns what is certain by now, and with `isEnd` the rest. Undefined if nothing is. */
  map(logprobs: unknown, isEnd: boolean): Json | undefined {
    const mapped: Json = {};
    let hasAny = false;
    for (const list of lists) {
      const given = isObject(logprobs) ? logprobs[list] : null;
      const tokens = Array.isArray(given) && !this.#isUnreadable ? this.#tokens[list].push(given) : [];
      if (isEnd) tokens.push(...this.#tokens[list].end());
      mapped[list] = Array.isArray(given) || tokens.length > 0 ? tokens : null;
      hasAny ||= tokens.length > 0;
    }
    return hasAny ? mapped : undefined;
  }
}
