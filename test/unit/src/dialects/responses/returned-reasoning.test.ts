import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type ChatRequest,
  type Message,
  type ReasoningDetail,
  usageOf,
} from '../../../../../src/canonical.ts';
import {
  EncryptedReasoning,
  encryptedContentOf,
} from '../../../../../src/dialects/responses/encrypted-reasoning.ts';
import { responses } from '../../../../../src/dialects/responses/index.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { readResponse } from '../../../response-events.ts';

const dialect = responses.create({ reasoning_placement: 'auto' }, { models: [] });
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const parse = (fields: object): ChatRequest => dialect.parse({ model: 'a/b', ...fields }, context);
const identityOf = (fields: object) => ({
  key: '5f2',
  created: 1_795_132_800,
  model: 'a/b',
  request: parse({ input: 'Hello', ...fields }),
  now_s: () => 1_795_132_801,
});

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
});

describe('signed reasoning in a response', () => {
  const include = ['reasoning.encrypted_content'];
  const usage = usageOf(1, 1);
  const whole = (fields: object, details: ReasoningDetail[] = signed) =>
    JSON.parse(
      dialect.renderReply(identityOf(fields), {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Hi.', reasoning: 'Hm.', reasoning_details: details },
            finish_reason: 'stop',
          },
        ],
        usage,
      }),
    ) as { output: { encrypted_content?: string }[] };
  /** A stream of these deltas. */
  function streamed(fields: object, ...deltas: object[]) {
    const stream = dialect.renderStream(identityOf(fields));
    const chunks = [...deltas.map(delta => chunkOf(delta)), { ...chunkOf({}, 'stop'), usage }];
    return readResponse(chunks.map(chunk => stream.chunk(chunk)).join('') + stream.end());
  }

  it('is in the reasoning item of a request that asks for it', () => {
    const encrypted_content = encryptedContentOf(signed);
    expect(whole({ include }).output[0]).toMatchObject({ type: 'reasoning', encrypted_content });
    expect(whole({ include: [] }).output[0]).not.toHaveProperty('encrypted_content');
    // Some clients send reasoning back only with it.
    expect(
      new EncryptedReasoning().detailsIn(whole({ include }, []).output[0]?.encrypted_content ?? ''),
    ).toEqual([]);
    const large = [{ type: 'reasoning.encrypted', data: 'x'.repeat(2_000_000) }];
    expect(whole({ include }, large).output[0]).not.toHaveProperty('encrypted_content');
  });

  it('is not in a message, whole or streamed', () => {
    const asMessage = { ...context, headers: { 'x-reasoning-placement': 'message' } };
    const request = dialect.parse({ model: 'a/b', input: 'Hello', include }, asMessage);
    const identity = { ...identityOf({}), request };
    const message = { role: 'assistant' as const, content: 'Hi.', reasoning_details: signed };
    const choices = [{ index: 0, message, finish_reason: 'stop' as const }];
    const reply = JSON.parse(dialect.renderReply(identity, { choices, usage })) as { output: object[] };
    expect(reply.output).toMatchObject([{ type: 'message', content: [{ text: 'Hi.' }] }]);
    const stream = dialect.renderStream(identity);
    const chunks = [chunkOf({ reasoning_details: signed }), chunkOf({ content: 'Hi.' }), chunkOf({}, 'stop')];
    const { items } = readResponse(chunks.map(chunk => stream.chunk(chunk)).join('') + stream.end());
    expect(items).toEqual(reply.output);
  });

  it('is streamed with the item that is done', () => {
    const deltas = [{ reasoning: 'Hm.' }, { reasoning_details: signed }, { content: 'Hi.' }];
    const { items, last, events } = streamed({ include }, ...deltas);
    expect(items).toEqual(whole({ include }).output);
    expect(last.response?.output).toEqual(items);
    const added = events.find(({ type }) => type === 'response.output_item.added');
    expect(added?.item).not.toHaveProperty('encrypted_content');
    expect(streamed({ include: [] }, ...deltas).items).toEqual(whole({ include: [] }).output);
  });

  it('has an item of its own without text, or behind the answer', () => {
    const hidden = [{ type: 'reasoning.encrypted', data: 'abc' }];
    const of = (...deltas: object[]) =>
      streamed({ include }, ...deltas).items.map(({ type, summary, encrypted_content = '' }) => [
        type,
        summary?.length,
        new EncryptedReasoning().detailsIn(encrypted_content),
      ]);
    const alone = ['reasoning', 0, hidden];
    const message = ['message', undefined, undefined];
    expect(of({ reasoning_details: hidden }, { content: 'Hi.' })).toEqual([alone, message]);
    expect(of({ content: 'Hi.' }, { reasoning_details: hidden })).toEqual([message, alone]);
    expect(of({ reasoning_details: hidden })).toEqual([alone, message]);
    const later = [{ type: 'reasoning.encrypted', data: 'def' }];
    expect(of({ reasoning_details: hidden }, { content: 'Hi.' }, { reasoning_details: later })).toEqual([
      alone,
      message,
      ['reasoning', 0, later],
    ]);
  });

  it('is read up to a hundred thousand values in a request', () => {
    const details = Array.from({ length: 3000 }, () => ({ type: 'x', data: [] }));
    const encrypted_content = encryptedContentOf(details as never);
    const items = Array.from({ length: 20 }, () => thought('Hm.', { encrypted_content }));
    const [messages, dropped] = taken(...items, call, output);
    expect(messages[0]?.reasoning_details).toHaveLength(33_000);
    expect(dropped).toEqual(['input.encrypted_content']);
  });

  it('comes back as it was, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ type: fc.string(), data: fc.jsonValue() }), { maxLength: 5 }),
        given => {
          const details = JSON.parse(JSON.stringify(given)) as ReasoningDetail[];
          expect(new EncryptedReasoning().detailsIn(encryptedContentOf(details) ?? '')).toEqual(details);
        },
      ),
    );
  });
});
