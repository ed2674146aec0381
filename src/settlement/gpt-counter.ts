import type { TokenCounter } from './estimate.ts';

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
        tokens += countTokens(text);
      },
      get tokens() {
        return tokens;
      },
    };
  };
}
