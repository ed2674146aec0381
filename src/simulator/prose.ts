import { Dice } from './seed.ts';
import { splitTokens, type TokenRun } from './tokens.ts';

const wordsOf = (text: string): string[] => text.split(' ');
const nouns = wordsOf(
  'river garden engine letter harbor signal window forest market bridge lantern circuit village meadow archive ' +
    'compass station kitchen theory pattern shadow island record season mirror tower valley number voyage answer',
);
const verbs = wordsOf(
  'follows carries repeats reveals guides changes answers gathers crosses holds reaches opens shapes joins marks leads',
);
const adjectives = wordsOf(
  'quiet bright narrow gentle early distant careful simple hidden steady broad clear formal plain patient open ' +
    'modest sudden useful amber',
);
const links = wordsOf('beside beneath beyond before after near within across toward behind');
const starts = 'The|In short, the|At first the|Then the|For that reason the|Often the|Here the'.split('|');

/** Longer prose repeats itself after about this many tokens, so that an endless reply costs no memory. */
const LOOP_TOKENS = 600;

/**
 * Readable prose of exactly `count` tokens (Infinity is allowed): the opening, then sentences chosen by the seed.
 * The same arguments give the same tokens; a prefix of a longer run equals the shorter one but for its full stop.
 */
export function proseRun(seed: number, opening: string, count: number): TokenRun {
  const head = splitTokens(opening);
  const loop: string[] = [];
  const dice = new Dice(seed);
  const wanted = Math.min(count - head.length, LOOP_TOKENS);
  while (loop.length < wanted) loop.push(...splitTokens(` ${sentence(dice)}`));
  const raw = (index: number): string => head[index] ?? loop[(index - head.length) % loop.length] ?? '';
  const at = (index: number): string => {
    if (count < 3 || index < count - 2) return raw(index);
    if (index === count - 1) return '.';
    return raw(index) === '.' ? ' indeed' : raw(index);
  };
  return { count, at };
}

/** Up to `most` words of the text, for quoting it. */
export function quoteWords(text: string, most: number): string[] {
  const word = /[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]*/gu;
  return [...text.matchAll(word)].slice(0, most).map(([found]) => found);
}

function sentence(dice: Dice): string {
  const subject = `${dice.pick(starts)} ${dice.pick(adjectives)} ${dice.pick(nouns)}`;
  const object = `the ${dice.pick(adjectives)} ${dice.pick(nouns)}`;
  const place = dice.roll() < 0.6 ? ` ${dice.pick(links)} the ${dice.pick(nouns)}` : '';
  return `${subject} ${dice.pick(verbs)} ${object}${place}.`;
}
