/*
 * The order matters: think tags and chat markers are single tokens as in a real vocabulary, then a script that
 * is written without spaces, then word pieces, digits and punctuation with their leading space, then white space.
 */
const TOKEN =
  / ?<\/?think>|<\|[a-z]+\|>| ?[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]| ?[[\p{L}\p{M}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]]{1,8}| ?\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]|\n+|[^\S\n]+(?=[^\S\n])|\s/gv;

/** Cuts text into the simulator's tokens; joined they are the text again, character for character. */
export function splitTokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** How many tokens the text has: what `usage` counts. */
export function countTokens(text: string): number {
  return text.match(TOKEN)?.length ?? 0;
}

/** Tokens of one part of a reply, generated on demand. `count` is Infinity for an endless reply. */
export interface TokenRun {
  readonly count: number;
  at(index: number): string;
}

/** A run over an array of tokens. */
export function listRun(tokens: readonly string[]): TokenRun {
  return { count: tokens.length, at: index => tokens[index] ?? '' };
}

/** The run of a text. */
export const textRun = (text: string): TokenRun => listRun(splitTokens(text));

/** The first `count` tokens of a run. */
export function limitRun(run: TokenRun, count: number): TokenRun {
  return run.count <= count ? run : { count, at: run.at };
}

/** Concatenates runs; what follows an endless run is never reached. */
export function joinRuns(runs: readonly TokenRun[]): TokenRun {
  const count = runs.reduce((sum, run) => sum + run.count, 0);
  const at = (index: number): string => {
    let rest = index;
    for (const run of runs) {
      if (rest < run.count) return run.at(rest);
      rest -= run.count;
    }
    return '';
  };
  return { count, at };
}

/** The text of the tokens from `start` up to but not including `end`. */
export function runText(run: TokenRun, start = 0, end = run.count): string {
  let text = '';
  for (let i = start; i < end && i < run.count; i++) text += run.at(i);
  return text;
}
