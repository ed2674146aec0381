import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parseResponsesRequest } from '../../../../../../plugins/dialects/responses/responses-request.ts';
import { chatCompletions } from '../../../../../../src/gateway/dialects/chat-completions/index.ts';
import { arrayOf } from '../../../../../../src/gateway/dialects/request-schema/first-fault.ts';

const model = 'aion-labs/aion-3.5';
const parseChat = (body: Record<string, unknown>) =>
  chatCompletions.create({ reasoning_key: 'reasoning' }, { models: [] }).parse({ model, ...body });
const parseResponses = (body: Record<string, unknown>) =>
  parseResponsesRequest({ model, ...body }, 'message', () => undefined);

const count = 10_000;

/** An array whose elements from the second on are valid or not; it tells how many of them were looked at. */
function watched(first: unknown, rest: unknown): { readonly array: unknown[]; readonly seen: () => number } {
  const seen = new Set<string>();
  const array = new Proxy(
    Array.from({ length: count }, (_, at) => (at === 0 ? first : rest)),
    {
      get(target, key) {
        if (typeof key === 'string' && /^\d+$/.test(key)) seen.add(key);
        return Reflect.get(target, key, target);
      },
    },
  );
  return { array, seen: () => seen.size };
}

const messages = [{ role: 'user', content: 'Hello' }];
const withCalls = (tool_calls: unknown) => ({ messages: [{ role: 'assistant', tool_calls }] });
const withParts = (content: unknown) => [{ role: 'user', content }];

describe('the first fault in an array', () => {
  it.each<[string, (array: unknown[]) => unknown, RegExp]>([
    ['messages', array => parseChat({ messages: array }), /^messages\[0\]\.role: /],
    ['tools', tools => parseChat({ messages, tools }), /^tools\[0\]: /],
    ['tool_calls', calls => parseChat(withCalls(calls)), /^messages\[0\]\.tool_calls\[0\]\.id: /],
    ['content', parts => parseChat({ messages: withParts(parts) }), /^messages\[0\]\.content\[0\]\.type: /],
    ['stop', stop => parseChat({ messages, stop }), /^stop: /],
    ['input', input => parseResponses({ input }), /^input\[0\]\.role: /],
    ['messages of a response', array => parseResponses({ messages: array }), /^messages\[0\]\.role: /],
    ['tools of a response', tools => parseResponses({ input: 'Hi', tools }), /^tools\[0\]\.type: /],
    [
      'content of an item',
      parts => parseResponses({ input: withParts(parts) }),
      /^input\[0\]\.content\[0\]\.type: /,
    ],
    [
      'the output of a function',
      output => parseResponses({ input: [{ type: 'function_call_output', call_id: 'a', output }] }),
      /^input\[0\]\.output\[0\]\.type: /,
    ],
  ])('ends the reading of %s', (_, parse, says) => {
    const { array, seen } = watched({}, {});
    expect(() => parse(array)).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringMatching(says) }),
    );
    expect(seen()).toBeLessThan(5);
  });

  it('is the only one that is kept', () => {
    const parsed = arrayOf(z.string(), 'must be an array').safeParse(Array.from({ length: count }, () => 7));
    expect(parsed.error?.issues).toHaveLength(1);
    expect(parsed.error?.issues[0]?.path).toEqual([0]);
  });
});
