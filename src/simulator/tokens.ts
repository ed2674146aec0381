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
