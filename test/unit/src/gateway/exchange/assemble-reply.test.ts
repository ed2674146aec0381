import { expect, it } from '@jest/globals';
import { ReplyAssembler } from '../../../../../src/gateway/exchange/assemble-reply.ts';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';

const piece = (index: number, delta: object, finish_reason: 'stop' | null = null, more: object = {}) => ({
  index,
  delta,
  finish_reason,
  ...more,
});
const assembled = (...chunks: Chunk[]) => {
  const assembler = new ReplyAssembler();
  for (const chunk of chunks) assembler.add(chunk);
  return assembler.reply();
};

it('assembles several choices in the order of their indices, with the last usage', () => {
  expect(
    assembled(
      { choices: [piece(1, { content: 'b' }), piece(0, { content: 'a' })], usage: usageOf(1, 2) },
      { choices: [piece(0, { content: 'A' }, 'stop')] },
      { choices: [piece(1, { content: 'B' }, 'stop')] },
      { choices: [], usage: usageOf(1, 4) },
    ),
  ).toEqual({
    choices: [
      { index: 0, message: { role: 'assistant', content: 'aA' }, finish_reason: 'stop' },
      { index: 1, message: { role: 'assistant', content: 'bB' }, finish_reason: 'stop' },
    ],
    usage: usageOf(1, 4),
  });
});

it('puts the pieces of a call together, with what its provider needs back', () => {
  const extra_content = { google: { thought_signature: 'c2ln' } };
  const { choices } = assembled(
    {
      choices: [
        piece(0, {
          tool_calls: [{ index: 0, id: 'call_1', function: { name: 'roll', arguments: '{"d":' } }],
        }),
      ],
    },
    {
      choices: [
        piece(0, { tool_calls: [{ index: 0, function: { arguments: '20}' }, extra_content }] }, 'stop'),
      ],
    },
  );
  expect(choices[0]?.message.tool_calls).toEqual([
    { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{"d":20}' }, extra_content },
  ]);
});

it('takes the log probabilities of more tokens than a call may have arguments', () => {
  const content = Array.from({ length: 200_000 }, () => ({ token: 'a' }));
  const { choices } = assembled({ choices: [piece(0, { content: 'a' }, 'stop', { logprobs: { content } })] });
  expect(choices[0]?.logprobs).toEqual({ content });
});

it.each<[string, Chunk[]]>([
  ['no choice', []],
  ['an unfinished choice', [{ choices: [piece(0, { content: 'a' })] }]],
])('rejects a stream with %s', (_, chunks) => {
  expect(() => assembled(...chunks)).toThrow(expect.objectContaining({ type: 'server_error' }));
});
