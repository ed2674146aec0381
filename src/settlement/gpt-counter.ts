import type { TokenCounter } from './token-estimator.ts';

/** What looks like a control token, such as `<|endoftext|>`, is text like any other; without this it would throw. */
const asText = { disallowedSpecial: new Set<string>() };
/** Counting takes quadratic time over what has no spaces, so long texts are counted in parts, each boundary a token at most. */
const part_characters = 512;

/**
 * Counts with the package `gpt-tokenizer`, o200k. Pieces are counted one by one as they come: within 3 % of the whole text's
 * count where pieces are tokens, as those of inference servers are (protocol e). Rejects if the package is not installed.
 */
export async function loadGptCounter(): Promise<() => TokenCounter> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  return () => {
    let tokens = 0;
    return {
      add(text) {
        for (let at = 0; at < text.length; at += part_characters)
          tokens += countTokens(text.slice(at, at + part_characters), asText);
      },
      get tokens() {
        return tokens;
      },
    };
  };
}
