import { describe, expect, it } from '@jest/globals';
import { markedText, sameText, type TextPiece, toolCalls } from '../../src/testing/same-text.ts';

const reasoning = (text: string): TextPiece => ({ kind: 'reasoning', text });
const content = (text: string): TextPiece => ({ kind: 'content', text });
const same = (one: readonly TextPiece[], other: readonly TextPiece[]): boolean => {
  const forth = sameText(markedText(one), markedText(other));
  expect(sameText(markedText(other), markedText(one))).toBe(forth);
  return forth;
};

describe('texts that say the same', () => {
  it.each<[string, TextPiece[], TextPiece[]]>([
    ['in other pieces', [content('Hel'), content('lo')], [content('Hello')]],
    ['split at the tags', [content('<think>A</think>B')], [reasoning('A'), content('B')]],
    [
      'without the whitespace there',
      [content(' <think>\nA \n</think>\n\nB ')],
      [reasoning('A'), content('B ')],
    ],
    ['with the whitespace there', [content('<think>\nA</think>\nB')], [reasoning('\nA'), content('\nB')]],
    [
      'two blocks joined',
      [content('<think>A</think>\n<think>B</think>C')],
      [reasoning('A\nB'), content('C')],
    ],
    ['left open', [content('<think>A ')], [reasoning('A ')]],
    ['begun by the prompt', [content('\nA</think>B')], [reasoning('A'), content('B')]],
    ['put back between tags', [reasoning('A'), content(' B')], [content('<think>A</think> B')]],
    ['before a tool call', [content('<think>A</think>\n'), toolCalls], [reasoning('A'), toolCalls]],
  ])('compare as equal: %s', (_, one, other) => expect(same(one, other)).toBe(true));
});

describe('texts that differ', () => {
  it.each<[string, TextPiece[], TextPiece[]]>([
    ['by their end', [content('Hello.')], [content('Hello')]],
    ['by a piece more', [content('Hello')], [content('HelloHello')]],
    ['by whitespace within', [content('a b')], [content('ab')]],
    ['by whitespace at the end', [content('a ')], [content('a')]],
    ['by whitespace at the beginning, without a tag', [content(' a')], [content('a')]],
    ['by whitespace within reasoning', [reasoning('a b'), content('c')], [reasoning('ab'), content('c')]],
    ['by their order', [reasoning('A'), content('B')], [content('B'), reasoning('A')]],
    ['by what comes after a tool call', [content('A'), toolCalls], [toolCalls, content('A')]],
    ['by a beginning tag', [content('<think>A</thi')], [reasoning('A')]],
  ])('compare as different %s', (_, one, other) => expect(same(one, other)).toBe(false));
});
