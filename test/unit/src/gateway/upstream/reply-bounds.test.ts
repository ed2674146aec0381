import { expect, it } from '@jest/globals';
import type { ReasoningDetail } from '../../../../../src/gateway/exchange/canonical.ts';
import { max_extra_characters } from '../../../../../src/gateway/exchange/canonical.ts';
import {
  extraContent,
  max_tool_calls,
  ReplyBounds,
} from '../../../../../src/gateway/upstream/reply-bounds.ts';

const choice = { index: 0, delta: {}, finish_reason: null };
const deep = JSON.parse(`${'['.repeat(1200)}${']'.repeat(1200)}`) as unknown;
const last = max_tool_calls - 1;

it.each<[string, object[], string | undefined]>([
  ['many pieces of one call', Array(9000).fill({ tool_calls: [{ index: 0 }] }), undefined],
  ['the last call', [{ tool_calls: [{ index: last, id: 'a' }] }], undefined],
  ['a call behind the last', [{ tool_calls: [{ index: last + 1 }] }], 'tool calls'],
  ['too many calls', Array(max_tool_calls + 1).fill({ tool_calls: [{ id: 'a' }] }), 'tool calls'],
  ['details of many pieces', Array(4097).fill({ reasoning_details: [{}] }), 'details'],
  ['details that are too deep', [{ reasoning_details: [deep] as ReasoningDetail[] }], 'levels deep'],
])('a reply is held to its bounds, of %s', (_, pieces, fault) => {
  const bounds = new ReplyBounds();
  const add = () => {
    for (const piece of pieces) bounds.add(choice, piece);
  };
  if (fault === undefined) expect(add).not.toThrow();
  else
    expect(add).toThrow(
      expect.objectContaining({
        cause: expect.objectContaining({ message: expect.stringContaining(fault) }),
      }),
    );
});

it('passes the extra content of a call on that its client may send back', () => {
  const of = (characters: number) => ({ a: 'x'.repeat(characters - '{"a":""}'.length) });
  expect(extraContent(of(max_extra_characters))).toEqual(of(max_extra_characters));
  expect(() => extraContent(of(max_extra_characters + 1))).toThrow();
});
