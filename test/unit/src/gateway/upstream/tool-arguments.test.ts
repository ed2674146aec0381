import { describe, expect, it } from '@jest/globals';
import { max_arguments_size } from '../../../../../src/common/json-size.ts';
import type { Message } from '../../../../../src/gateway/exchange/canonical.ts';
import { checkToolArguments, toolArguments } from '../../../../../src/gateway/upstream/tool-arguments.ts';

const call = (text: string) => ({
  id: 'c',
  type: 'function' as const,
  function: { name: 'f', arguments: text },
});
const deep = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;

describe('the arguments of a tool call', () => {
  it.each<[string, object | RegExp]>([
    [' \n', {}],
    ['{"a":1}', { a: 1 }],
    ['[1]', /must be a JSON object/],
    ['{"a":', /must be a JSON object/],
    [deep(100_000), /is nested too deeply/],
  ])('are an object or refused: %.20s', (text, expected) => {
    const read = () => toolArguments(call(text), 'messages[0]');
    if (expected instanceof RegExp) expect(read).toThrow(expected);
    else expect(read()).toEqual(expected);
  });

  it('may hold as many values and keys as a request, all calls of all messages together', () => {
    const { values, keys } = max_arguments_size;
    const list = (count: number) => `{"a":[${'0,'.repeat(count - 1)}0]}`;
    const object = (count: number) =>
      `{${Array.from({ length: count }, (_, at) => `"${at.toString(36)}":0`).join()}}`;
    const said = (...texts: string[]): Message => ({
      role: 'assistant',
      content: null,
      tool_calls: texts.map(call),
    });
    const check =
      (...texts: string[]) =>
      () =>
        checkToolArguments([said(texts[0]!), said(...texts.slice(1))]);
    expect(check(list(values / 2), '{}')).not.toThrow();
    expect(check(list(values / 2), list(values / 2))).toThrow(/at most/);
    expect(check('{}', list(values / 2), list(values / 2))).toThrow(/at most/);
    expect(check(object(keys / 2), object(keys / 2 + 1))).toThrow(/at most/);
  });
});
