import { describe, expect, it } from '@jest/globals';
import { encryptedContentOf } from '../../../../../plugins/dialects/responses/encrypted-reasoning.ts';
import { responses } from '../../../../../plugins/dialects/responses/index.ts';
import type { ChatRequest, Message, ReasoningDetail } from '../../../../../src/gateway/exchange/canonical.ts';

const dialect = responses.create({ reasoning_placement: 'auto' }, { models: [] });
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const parse = (fields: object): ChatRequest => dialect.parse({ model: 'a/b', ...fields }, context);

const user = { role: 'user', content: 'Roll.' };
const call = { type: 'function_call', call_id: 'c1', name: 'roll', arguments: '{}' };
const chatCall = { id: 'c1', type: 'function', function: { name: 'roll', arguments: '{}' } };
const output = { type: 'function_call_output', call_id: 'c1', output: '17' };
const thought = (text: string, more: object = {}) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text }],
  ...more,
});
const signed: ReasoningDetail[] = [{ type: 'reasoning.text', text: 'Hm.', signature: 'sig' }];
/** Messages after the first, and what is named as dropped. */
function taken(...items: object[]): [Message[], string[]] {
  const { messages, unknown } = parse({ input: [user, ...items] });
  return [messages.slice(1), Object.keys(unknown)];
}

describe('reasoning that a client sends back', () => {
  it('is that of the message after it', () => {
    const said = { role: 'assistant', content: 'I roll.' };
    const answer = { role: 'tool', tool_call_id: 'c1', content: '17' };
    const turn = { role: 'assistant', content: null, tool_calls: [chatCall] };
    expect(taken(thought('Hm.'), call, output)).toEqual([[{ ...turn, reasoning: 'Hm.' }, answer], []]);
    expect(taken(thought('a'), said, thought('b'), call, output)).toEqual([
      [{ ...turn, content: 'I roll.', reasoning: 'a\nb' }, answer],
      [],
    ]);
    expect(taken(said, thought('b'), { role: 'assistant', content: 'Then.' })).toEqual([
      [said, { role: 'assistant', content: 'Then.', reasoning: 'b' }],
      [],
    ]);
    expect(taken(call, output, thought('b'), { ...call, call_id: 'c2' })[0][2]).toEqual({
      role: 'assistant',
      content: null,
      reasoning: 'b',
      tool_calls: [{ ...chatCall, id: 'c2' }],
    });
  });

  it('is that of the message before it at the end of a turn, and named without any', () => {
    expect(taken(call, thought('late'), output)[0][0]).toMatchObject({ reasoning: 'late' });
    expect(taken(thought('lost'), user)).toEqual([[user], ['input.reasoning']]);
    expect(taken(thought('lost'))).toEqual([[], ['input.reasoning']]);
    expect(taken({ type: 'reasoning', summary: [] }, user)).toEqual([[user], []]);
  });

  it('is its content where it has one, and else its summary', () => {
    const content = [{ type: 'reasoning_text', text: 'In full.' }];
    expect(taken(thought('Short.', { content }), call)[0][0]?.reasoning).toBe('In full.');
    expect(taken(thought('Short.', { content: [] }), call)[0][0]?.reasoning).toBe('Short.');
    expect(taken(thought('Short.', { content: null }), call)[0][0]?.reasoning).toBe('Short.');
  });

  it('has its signature again, and is kept without one that was not made here', () => {
    const encrypted_content = encryptedContentOf(signed);
    expect(taken(thought('Hm.', { encrypted_content }), call)).toEqual([
      [
        {
          role: 'assistant',
          content: null,
          reasoning: 'Hm.',
          reasoning_details: signed,
          tool_calls: [chatCall],
        },
      ],
      [],
    ]);
    const encode = (text: string) => `slr1.${Buffer.from(text).toString('base64url')}`;
    for (const bad of [
      'gAAAAABo',
      'slr1.',
      'slr2.W10',
      encode('{}'),
      encode('[7]'),
      encode('[{"type":7}]'),
      encode('[{"type":"a"}'),
      encode(`[{"type":"a","b":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`),
      encode(`[${'{"type":"a"},'.repeat(20_000)}{"type":"a"}]`),
      `slr1.${'A'.repeat(2_000_000)}`,
    ]) {
      const [[message], named] = taken(thought('Hm.', { encrypted_content: bad }), call);
      expect(message).toEqual({ role: 'assistant', content: null, reasoning: 'Hm.', tool_calls: [chatCall] });
      expect(named).toEqual(['input.encrypted_content']);
    }
  });

  it('is read up to a hundred thousand values in a request', () => {
    const details = Array.from({ length: 3000 }, () => ({ type: 'x', data: [] }));
    const encrypted_content = encryptedContentOf(details as never);
    const items = Array.from({ length: 20 }, () => thought('Hm.', { encrypted_content }));
    const [messages, dropped] = taken(...items, call, output);
    expect(messages[0]?.reasoning_details).toHaveLength(33_000);
    expect(dropped).toEqual(['input.encrypted_content']);
  });
});
