import { describe, expect, it } from '@jest/globals';
import { type Chunk, type Delta, usageOf } from '../../../../../src/canonical.ts';
import { refusal } from '../../../../../src/errors.ts';
import { type ClientEvent, eventsOf } from '../../../../support/gateway-under-test.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { bySdk, streamed, streamOf, usage } from '../../../message-setting.ts';

const claude = 'anthropic-claude-v1';
const role = chunkOf({ role: 'assistant', content: '' });
const finish = (reason: 'stop' | 'length' | 'tool_calls' = 'stop', more: object = {}): Chunk => ({
  choices: [{ index: 0, delta: {}, finish_reason: reason, ...more }],
  usage,
});
const piece = (index: number, text: string, id?: string, name?: string): Delta => ({
  tool_calls: [
    {
      index,
      ...(id !== undefined && { id, type: 'function' }),
      function: { arguments: text, ...(name !== undefined && { name }) },
    },
  ],
});
const signed = (text: string, signature: string): Delta => ({
  reasoning_details: [{ type: 'reasoning.text', text, signature, format: claude }],
});
const of = (...deltas: Delta[]) => streamed([role, ...deltas.map(delta => chunkOf(delta)), finish()]);
const namesOf = (text: string) => eventsOf(text).map(({ event }) => event);

type StreamEvent = Pick<ClientEvent, 'event'> & {
  readonly json: { readonly index?: number; readonly content_block?: { readonly type: string } };
};

/** Blocks may not overlap: each starts after the one before has stopped, and has the next index. */
function blocksIn(text: string): string[] {
  const types: string[] = [];
  let open: number | undefined;
  for (const { event, json } of eventsOf(text) as StreamEvent[]) {
    if (!event?.startsWith('content_block')) continue;
    if (event === 'content_block_start') {
      expect([open, json.index]).toEqual([undefined, types.length]);
      open = json.index;
      types.push(json.content_block!.type);
    } else expect(json.index).toBe(open);
    if (event === 'content_block_stop') open = undefined;
  }
  expect(open).toBeUndefined();
  return types;
}

describe('a Messages stream', () => {
  it('has the events of the format, and no [DONE]', () => {
    const text = of({ reasoning: 'Hm' }, { reasoning: '.' }, { content: 'Yes' });
    expect(namesOf(text)).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const events = eventsOf(text);
    // Clients send thinking back only if it has a signature, which may be empty.
    expect(events[5]?.json.delta).toEqual({ type: 'signature_delta', signature: '' });
    for (const { event, json } of events) expect(json.type).toBe(event);
    expect(events[0]?.json.message).toEqual({
      id: 'msg_5f2',
      type: 'message',
      role: 'assistant',
      model: 'aion-labs/aion-3.5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: 12,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 0,
      },
    });
    expect(events.at(-2)?.json).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 4,
        output_tokens: 9,
        output_tokens_details: { thinking_tokens: 5 },
      },
    });
  });

  it('names the stop sequence at which it ended', async () => {
    const text = streamed([role, chunkOf({ content: 'a' }), finish('stop', { stop_sequence: '###' })]);
    expect(await bySdk(text)).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: '###' });
  });

  it('adds running usage to further message_delta events, if asked', async () => {
    const chunk = { ...chunkOf({ content: 'Yes' }), usage: usageOf(12, 1) };
    const more = { stream_options: { continuous_usage_stats: true } };
    const text = streamed([{ ...role, usage: usageOf(12, 0) }, chunk, finish()], more);
    const deltas = eventsOf(text).filter(({ event }) => event === 'message_delta');
    expect(
      deltas.map(({ json }) => [
        json.delta,
        (json.usage as unknown as { output_tokens: number }).output_tokens,
      ]),
    ).toEqual([
      [{ stop_reason: null, stop_sequence: null }, 0],
      [{ stop_reason: null, stop_sequence: null }, 1],
      [{ stop_reason: 'end_turn', stop_sequence: null }, 9],
    ]);
    expect(await bySdk(text)).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: 9 } });
  });

  it('adds no running usage where nothing is written, with the end, or without being asked', () => {
    const chunks = [
      { ...role, usage: usageOf(12, 0) },
      { choices: [], usage: usageOf(12, 1) },
      { ...chunkOf({ content: 'Yes' }, 'stop'), usage: usageOf(12, 2) },
      { choices: [], usage },
    ];
    const told = (continuous_usage_stats: boolean) =>
      eventsOf(streamed(chunks, { stream_options: { continuous_usage_stats } }))
        .filter(({ event }) => event === 'message_delta')
        .map(({ json }) => (json.usage as unknown as { output_tokens: number }).output_tokens);
    expect(told(true)).toEqual([0, 9]);
    expect(told(false)).toEqual([9]);
  });

  it('ends with an error event and nothing behind it', () => {
    const stream = streamOf();
    const text = stream.chunk(role) + stream.error(refusal('provider_broke_off')) + stream.end();
    expect(eventsOf(text).at(-1)).toMatchObject({
      event: 'error',
      json: {
        type: 'error',
        error: { type: 'api_error', message: 'The upstream provider closed the stream unexpectedly.' },
      },
    });
  });

  it('ends with an error if the finish reason is missing', () => {
    const stream = streamOf();
    expect(namesOf(stream.chunk(role) + stream.end())).toEqual(['message_start', 'ping', 'error']);
  });
});

describe('thinking in a Messages stream', () => {
  it('ends with its signature, and the next block begins without the separator', async () => {
    const text = of(
      { reasoning: 'On' },
      { reasoning: 'e.' },
      signed('One.', 'c2ln'),
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'ZGF0YQ==', format: claude }] },
      { reasoning: '\nTwo.' },
      signed('Two.', 'bmF0'),
      { content: 'Yes.' },
    );
    expect(blocksIn(text)).toEqual(['thinking', 'redacted_thinking', 'thinking', 'text']);
    expect((await bySdk(text)).content).toEqual([
      { type: 'thinking', thinking: 'One.', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'ZGF0YQ==' },
      { type: 'thinking', thinking: 'Two.', signature: 'bmF0' },
      { type: 'text', text: 'Yes.' },
    ]);
  });

  it('keeps a line break that belongs to a text', async () => {
    const text = of(
      { reasoning: '\nOne.' },
      signed('\nOne.', 'c2ln'),
      { reasoning: '\n\nTwo.' },
      signed('\nTwo.', 'bmF0'),
    );
    expect((await bySdk(text)).content).toEqual([
      { type: 'thinking', thinking: '\nOne.', signature: 'c2ln' },
      { type: 'thinking', thinking: '\nTwo.', signature: 'bmF0' },
    ]);
  });

  it('is a block of its own where a provider shows none of it', async () => {
    expect((await bySdk(of(signed('', 'c2ln'), { content: 'Yes.' }))).content).toEqual([
      { type: 'thinking', thinking: '', signature: 'c2ln' },
      { type: 'text', text: 'Yes.' },
    ]);
  });

  it('has no signature of a text that a stage has changed', async () => {
    expect((await bySdk(of({ reasoning: 'I am [name].' }, signed('I am Ann.', 'c2ln')))).content).toEqual([
      { type: 'thinking', thinking: 'I am [name].', signature: '' },
    ]);
  });

  it('ends with a detail that comes with the beginning of the next', async () => {
    const summary = (text: string) => ({ type: 'reasoning.summary', summary: text, format: 'x' });
    const text = of(
      { reasoning: 'One.' },
      { reasoning: 'Two.', reasoning_details: [summary('One.')] },
      { content: 'Yes.', reasoning_details: [summary('Two.')] },
    );
    expect((await bySdk(text)).content).toMatchObject([
      { thinking: 'One.', signature: expect.stringMatching(/^sluice-detail-v1:/) },
      { thinking: 'Two.', signature: expect.stringMatching(/^sluice-detail-v1:/) },
      { text: 'Yes.' },
    ]);
  });

  it('is text and signatures only, whatever a server signs', async () => {
    const odd = { type: 'reasoning.text', text: { a: 1 }, signature: ['s'], format: claude };
    const text = of({ reasoning_details: [odd as never] }, { content: 'Yes' });
    expect((await bySdk(text)).content).toEqual([{ type: 'text', text: 'Yes' }]);
  });

  it('brings a signature that comes after the answer in a block without a text', async () => {
    const { content } = await bySdk(of({ reasoning: 'One.' }, { content: 'Yes.' }, signed('One.', 'c2ln')));
    expect(content).toEqual([
      { type: 'thinking', thinking: 'One.', signature: '' },
      { type: 'text', text: 'Yes.' },
      { type: 'thinking', thinking: '', signature: expect.stringMatching(/^sluice-detail-v1:/) },
    ]);
  });
});

describe('calls in a Messages stream', () => {
  const inputs = async (text: string) =>
    (await bySdk(text)).content.flatMap(block =>
      block.type === 'tool_use' ? [[block.id, block.input]] : [],
    );

  it('are written while they come', () => {
    const stream = streamOf();
    stream.chunk(role);
    expect(namesOf(stream.chunk(chunkOf(piece(0, '', 'call_1', 'roll'))))).toEqual(['content_block_start']);
    expect(namesOf(stream.chunk(chunkOf(piece(0, '{"sides'))))).toEqual(['content_block_delta']);
  });

  it('do not interleave where their pieces alternate', async () => {
    const text = of(
      piece(0, '{"a":', 'call_1', 'roll'),
      piece(1, '{"b":"}', 'call_2', 'toss'),
      { content: 'Meanwhile.' },
      piece(0, '[1]'),
      piece(1, '\\"'),
      piece(0, '}'),
      piece(1, '"}'),
    );
    expect(blocksIn(text)).toEqual(['tool_use', 'tool_use', 'text']);
    expect(await inputs(text)).toEqual([
      ['call_1', { a: [1] }],
      ['call_2', { b: '}"' }],
    ]);
  });

  it('wait for their names, and end without arguments', async () => {
    const text = of(
      piece(0, '{}', 'call_1'),
      piece(1, '', 'call_2', 'toss'),
      piece(0, '', undefined, 'roll'),
      piece(2, '{}', '', 'roll'),
    );
    expect(blocksIn(text)).toEqual(['tool_use', 'tool_use', 'tool_use']);
    expect(await inputs(text)).toEqual([
      ['call_1', {}],
      ['call_2', {}],
      ['toolu_5f2_1', {}],
    ]);
  });

  it('fail when arguments go on after their end', () => {
    expect(() => of(piece(0, '{}', 'call_1', 'roll'), piece(0, '{}'))).toThrow('invalid response');
    expect(() => of(piece(0, '{} ', 'call_1', 'roll'), piece(0, '\n'))).not.toThrow();
  });

  it.each(['null', '[1]', 'roll', '}', '{}x', '{}{}'])('fail when their arguments are %s', given => {
    const fault = expect.objectContaining({ code: 'provider_invalid' });
    expect(() => of(piece(0, given, 'a', 'roll'))).toThrow(fault);
    const pieces = [...given].map((text, at) => piece(0, text, ...(at === 0 ? ['a', 'roll'] : [])));
    expect(() => of(...pieces)).toThrow(fault);
  });

  it('have an empty input where their arguments are white space', async () => {
    expect(await inputs(of(piece(0, ' ', 'a', 'roll'), piece(0, '\n')))).toEqual([['a', {}]]);
    expect(await inputs(of(piece(0, ' {}', 'a', 'roll')))).toEqual([['a', {}]]);
  });

  it('fail when one lacks its end, unless the reply was cut off', () => {
    const call = chunkOf(piece(0, '{"sides":2', 'a', 'roll'));
    expect(() => streamed([role, call, finish('tool_calls')])).toThrow(
      expect.objectContaining({ code: 'provider_invalid' }),
    );
    expect(blocksIn(streamed([role, call, finish('length')]))).toEqual(['tool_use']);
  });

  it('fail when too much waits behind one that does not end', () => {
    const stream = streamOf();
    stream.chunk(role);
    stream.chunk(chunkOf(piece(0, '{', 'call_1', 'roll')));
    stream.chunk(chunkOf(piece(1, '{"a":"', 'call_2', 'toss')));
    const much = chunkOf(piece(1, 'x'.repeat(1_000_000)));
    for (let at = 0; at < 8; at++) stream.chunk(much);
    expect(() => stream.chunk(much)).toThrow(
      expect.objectContaining({ cause: new Error('too much behind a call that does not end') }),
    );
  });

  it('do not fail when as much was held one after the other', async () => {
    const inputs_of_a = 'x'.repeat(2_000_000);
    const calls = [0, 1, 2, 3, 4, 5];
    const text = of(
      piece(0, '{', 'call_0', 'roll'),
      ...calls.flatMap(at => [
        piece(at + 1, `{"a":"${inputs_of_a}"`, `call_${at + 1}`, 'roll'),
        piece(at, '}'),
      ]),
      piece(6, '}'),
    );
    expect((await inputs(text)).map(([, input]) => (input as { a?: string }).a?.length)).toEqual([
      undefined,
      ...Array(6).fill(2_000_000),
    ]);
  });
});
