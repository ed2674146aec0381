import { isObject, type Json } from '../../../src/plugin.ts';

/** Log probabilities as completions have them: lists side by side. */
export interface ListedLogprobs {
  readonly tokens: readonly unknown[];
  readonly token_logprobs: readonly unknown[];
  readonly top_logprobs: readonly (Json | null)[] | null;
  readonly text_offset: readonly unknown[];
}

/** The canonical form, that of chat completions, in which stages find the text of each token; `text_offset` is kept in each. */
export function chatLogprobs(given: unknown): { content: Json[] } | undefined {
  if (!isObject(given) || !Array.isArray(given.tokens)) return undefined;
  const [logprobs, offsets, tops] = [given.token_logprobs, given.text_offset, given.top_logprobs].map(list =>
    Array.isArray(list) ? list : [],
  ) as [unknown[], unknown[], unknown[]];
  const content = given.tokens.map((token, at) => {
    const top = tops[at];
    const others =
      isObject(top) && Object.entries(top).map(([other, logprob]) => ({ token: other, logprob }));
    return {
      ...{ token, logprob: logprobs[at] ?? null, text_offset: offsets[at] ?? null },
      ...(others && { top_logprobs: others }),
    };
  });
  return { content };
}

/** The form of completions again. */
export function listedLogprobs(given: unknown): ListedLogprobs | null {
  if (!isObject(given) || !Array.isArray(given.content)) return null;
  const tokens = given.content.filter(isObject);
  const tops = tokens.map(({ top_logprobs: others }) => (Array.isArray(others) ? asTable(others) : null));
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob ?? null),
    top_logprobs: tops.some(top => top !== null) ? tops : null,
    text_offset: tokens.map(({ text_offset }) => text_offset ?? null),
  };
}

const asTable = (others: readonly unknown[]): Json =>
  Object.fromEntries(others.filter(isObject).map(({ token, logprob }) => [String(token), logprob]));
