import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { adapterOf } from '../../../../support/provider-fixtures.ts';

const adapter = adapterOf('anthropic');
const message = (more: object) => ({
  type: 'message',
  role: 'assistant',
  content: [],
  stop_reason: 'end_turn',
  ...more,
});

function decoded(...events: object[]): Chunk[] {
  const stream = adapter.openStream();
  return events.flatMap(event => stream.decode({ data: JSON.stringify(event) }));
}

describe('the finish reason of a message', () => {
  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['some_new_reason', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
  ])('maps %s to %s', (stop_reason, expected) => {
    expect(adapter.decodeReply(message({ stop_reason })).choices[0]!.finish_reason).toBe(expected);
    const [chunk] = decoded({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 1 } });
    expect(chunk!.choices[0]!.finish_reason).toBe(expected);
  });

  it('keeps a word that is not known, whole and streamed', () => {
    const [whole] = adapter.decodeReply(message({ stop_reason: 'compaction' })).choices;
    const [chunk] = decoded({ type: 'message_delta', delta: { stop_reason: 'compaction' } });
    for (const choice of [whole, chunk?.choices[0]])
      expect(choice).toMatchObject({ finish_reason: 'stop', native_finish_reason: 'compaction' });
  });

  it.each([null, undefined, ''])('is missing when the stop reason is %j', stop_reason => {
    expect(() => adapter.decodeReply(message({ stop_reason }))).toThrow(
      expect.objectContaining({ code: 'provider_invalid' }),
    );
    expect(decoded({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 7 } })).toEqual([
      { choices: [], usage: usageOf(0, 7) },
    ]);
  });
});

describe('Anthropic usage', () => {
  it('includes tokens read from the cache and written to it', () => {
    const usage = {
      input_tokens: 5,
      cache_read_input_tokens: 16,
      cache_creation_input_tokens: 3,
      output_tokens: 7,
    };
    expect(adapter.decodeReply(message({ usage })).usage).toEqual(usageOf(24, 7, 16, undefined, 3));
  });

  it('keeps earlier values when later stream events omit or zero them', () => {
    const chunks = decoded(
      {
        type: 'message_start',
        message: { usage: { input_tokens: 5, cache_read_input_tokens: 16, output_tokens: 1 } },
      },
      { type: 'message_delta', delta: {}, usage: { output_tokens: 4 } },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 9 },
      },
    );
    expect(chunks.map(({ usage }) => usage)).toEqual([
      usageOf(21, 1, 16),
      usageOf(21, 4, 16),
      usageOf(21, 9, 16),
    ]);
  });

  it('takes input tokens that are reported only at the end of a stream', () => {
    const chunks = decoded(
      { type: 'message_start', message: { usage: { input_tokens: 0, output_tokens: 0 } } },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 21, output_tokens: 9 },
      },
    );
    expect(chunks.at(-1)!.usage).toEqual(usageOf(21, 9));
  });

  it.each([undefined, null, 'many', {}, { input_tokens: -1, output_tokens: 'x' }])(
    'is absent when the API sends %j',
    usage => {
      expect(adapter.decodeReply(message({ usage }))).not.toHaveProperty('usage');
      expect(decoded({ type: 'message_start', message: { usage } })[0]).not.toHaveProperty('usage');
    },
  );
});

describe('an Anthropic stream', () => {
  it('is done at message_stop and complete at the stop reason', () => {
    const stream = adapter.openStream();
    expect([stream.complete, stream.done]).toEqual([false, false]);
    stream.decode({ data: '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}' });
    expect([stream.complete, stream.done]).toEqual([true, false]);
    stream.decode({ data: '{"type":"message_stop"}' });
    expect([stream.complete, stream.done]).toEqual([true, true]);
  });

  it.each([
    { type: 'ping' },
    { type: 'content_block_delta', index: 9, delta: { type: 'text_delta', text: 'of no block' } },
    { type: 'content_block_delta', index: 0 },
    { type: 'content_block_start', index: 0 },
    { type: 'content_block_start', index: 0, content_block: { type: 'hologram' } },
    { type: 'content_block_stop', index: 9 },
    { type: 'vendor.event', error: null, detail: 'none' },
    {},
  ])('ignores %j', event => {
    expect(decoded(event)).toEqual([]);
  });

  it('accepts text and arguments in the start event of a block', () => {
    expect(
      decoded(
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
        {
          type: 'content_block_start',
          index: 1,
          content_block: { type: 'tool_use', id: 'a', name: 'roll', input: { sides: 6 } },
        },
        { type: 'content_block_stop', index: 1 },
      ).map(({ choices }) => choices[0]!.delta),
    ).toEqual([
      { content: 'Hi' },
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'roll', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"sides":6}' } }] },
    ]);
  });

  it('generates an id for a call without one', () => {
    const [chunk] = decoded({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', name: 'roll' },
    });
    expect(chunk!.choices[0]!.delta.tool_calls![0]!.id).toMatch(/^call_[0-9a-f]{24}$/);
  });

  it('recognizes an error by its event name alone', () => {
    const stream = adapter.openStream();
    expect(() => stream.decode({ event: 'error', data: '{"code":500,"message":"x"}' })).toThrow(
      expect.objectContaining({ name: 'UpstreamError' }),
    );
  });

  it.each([
    ['overloaded_error', 529],
    ['api_error', undefined],
    ['rate_limit_error', 429],
    ['invalid_request_error', 400],
  ])('reports %s with its status', (type, status) => {
    expect(() => decoded({ type: 'error', error: { type, message: 'x' } })).toThrow(
      expect.objectContaining({ name: 'UpstreamError', message: 'x', status }),
    );
  });
});

describe('signed reasoning of a message', () => {
  const content = [
    { type: 'thinking', thinking: 'One.', signature: 'a' },
    { type: 'redacted_thinking', data: 'Emw' },
    { type: 'thinking', thinking: 'Unsigned.', signature: '' },
    { type: 'thinking', thinking: 'Two.', signature: 'b' },
    { type: 'text', text: 'Hi.' },
  ];
  const format = 'anthropic-claude-v1';
  const details = [
    { type: 'reasoning.text', text: 'One.', signature: 'a', format, index: 0 },
    { type: 'reasoning.encrypted', data: 'Emw', format, index: 1 },
    { type: 'reasoning.text', text: 'Two.', signature: 'b', format, index: 2 },
  ];

  it('is in a whole reply, a detail for each block that is signed or encrypted', () => {
    expect(adapter.decodeReply(message({ content })).choices[0]!.message).toEqual({
      role: 'assistant',
      content: 'Hi.',
      reasoning: 'One.\nUnsigned.\nTwo.',
      reasoning_details: details,
    });
  });

  it('comes in a stream after the reasoning of its block, whole', () => {
    const block = (index: number, ...deltas: object[]) => [
      {
        type: 'content_block_start',
        index,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const thought = (thinking: string) => ({ type: 'thinking_delta', thinking });
    const chunks = decoded(
      ...block(0, thought('O'), thought('ne.'), { type: 'signature_delta', signature: 'a' }),
      { type: 'content_block_start', index: 1, content_block: content[1] },
      { type: 'content_block_stop', index: 1 },
      ...block(2, thought('Two.'), { type: 'signature_delta', signature: 'b' }),
    );
    expect(chunks.map(({ choices }) => choices[0]!.delta)).toEqual([
      { reasoning: 'O' },
      { reasoning: 'ne.' },
      { reasoning_details: [details[0]] },
      { reasoning_details: [details[1]] },
      { reasoning: '\nTwo.' },
      { reasoning_details: [details[2]] },
    ]);
  });
});

describe('the stop sequence of a message', () => {
  it('is that of the API, whole and streamed, and absent without one', () => {
    const ended = { stop_reason: 'stop_sequence', stop_sequence: 'END' };
    expect(adapter.decodeReply(message(ended)).choices[0]).toMatchObject({ stop_sequence: 'END' });
    const [chunk] = decoded({ type: 'message_delta', delta: ended, usage: { output_tokens: 1 } });
    expect(chunk!.choices[0]).toMatchObject({ stop_sequence: 'END', finish_reason: 'stop' });
    expect(adapter.decodeReply(message({ stop_sequence: null })).choices[0]).not.toHaveProperty(
      'stop_sequence',
    );
  });
});
