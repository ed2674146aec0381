import type { ConfigIssue } from '../common/config-error.ts';
import { missingPackage } from '../common/missing-package.ts';
import { type TokenCounter, TokenEstimator } from '../gateway/settlement/token-estimator.ts';

/** Text that looks like a control token, such as `<|endoftext|>`, counts as text; by default it would throw. */
const asText = { disallowedSpecial: new Set<string>() };
/** Text without the end of a word is counted in parts of this length: it takes quadratic time. */
const part_characters = 64;
/** Up to the last end of a word, which no token crosses. Before an apostrophe a word may go on. */
const wholeWords = /^.*[\p{L}\p{N}](?=[^\p{L}\p{M}\p{N}'])/su;

/** Creates counters of the estimator that is configured; its package is loaded only then. Adds to `issues` if it cannot be. */
export async function loadCounter(
  name: string | undefined,
  issues: ConfigIssue[],
): Promise<() => TokenCounter> {
  try {
    if (name === 'gpt-tokenizer') return await loadGptCounter();
  } catch (cause) {
    issues.push({ path: ['usage', 'estimator'], message: missingPackage('gpt-tokenizer', cause) });
  }
  return () => new TokenEstimator();
}

/**
 * Loads a counter from the package `gpt-tokenizer`, o200k. Its count does not depend on how the text is cut into pieces, and is exact but for
 * text of more than 64 characters without the end of a word: there it may be one token more for each 64. Rejects if the package is not
 * installed.
 */
export async function loadGptCounter(): Promise<() => TokenCounter> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  return () => {
    let counted = 0;
    /** What the next piece may go on with. */
    let rest = '';
    let tokens = 0;
    return {
      add(text) {
        const given = rest + text;
        let at = 0;
        for (let end = partEnd(given, at); end > at; end = partEnd(given, at)) {
          counted += countTokens(given.slice(at, end), asText);
          at = end;
        }
        rest = given.slice(at);
        tokens = counted + countTokens(rest, asText);
      },
      get tokens() {
        return tokens;
      },
    };
  };
}

/** End of the part of `text` that begins at `at` and can be counted on its own; `at` if none can. */
function partEnd(text: string, at: number): number {
  const part = text.slice(at, at + part_characters + 1);
  const words = wholeWords.exec(part)?.[0].length;
  if (words !== undefined) return at + words;
  if (part.length <= part_characters) return at;
  const last = part.charCodeAt(part_characters - 1);
  // The halves of a surrogate pair would count as a token each.
  return at + part_characters - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
}
