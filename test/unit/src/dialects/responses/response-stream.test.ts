import { describe, expect, it } from '@jest/globals';
import { type Chunk, type Delta, usageOf } from '../../../../../src/canonical.ts';
import { responses } from '../../../../../src/dialects/responses/index.ts';
import { GatewayError, refusal } from '../../../../../src/errors.ts';
import { eventsOf } from '../../../../support/gateway-under-test.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { readResponse } from '../../../response-events.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const identity = (more: Parameters<typeof sampleRequest>[0] = {}) => ({
  key: '5f2',
  created: 1_795_132_800,
  model: 'aion-labs/aion-3.5',
  request: sampleRequest({ stream: true, ...more }),
  now_s: () => 1_795_132_801,
});

const open = (
  more: Parameters<typeof sampleRequest>[0] = {},
  reasoning_placement: 'message' | 'item' = 'item',
) => responses.create({ reasoning_placement }, { models: [] }).renderStream(identity(more));

/** All that is written for these deltas, and the end. */
function written(deltas: readonly Delta[], finish: 'stop' | 'length' = 'stop'): string {
  const stream = open();
  return (
    deltas.map(delta => stream.chunk(chunkOf(delta))).join('') +
    stream.chunk(chunkOf({}, finish)) +
    stream.end()
  );
}

const call = (index: number, name: string, text: string, id = `call_${index}`): Delta => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }],
});
const more = (index: number, text: string): Delta => ({
  tool_calls: [{ index, function: { arguments: text } }],
});
/** Types and item ids, without the lifecycle of the response. */
const order = (text: string): string[] =>
  readResponse(text)
    .events.slice(2, -1)
    .map(({ type, item_id, item }) => `${type.replace('response.', '')} ${item_id ?? item?.id}`);

describe('the output items of a stream', () => {
  it('follow one another, each done before the next begins', () => {
    const text = written([
      { reasoning: 'a' },
      { content: 'b' },
      call(0, 'roll', '{}'),
      call(1, 'toss', '{"n":'),
      more(1, '1}'),
    ]);
    expect(order(text)).toEqual([
      'output_item.added rs_5f2',
      'content_part.added rs_5f2',
      'reasoning_text.delta rs_5f2',
      'reasoning_text.done rs_5f2',
      'content_part.done rs_5f2',
      'output_item.done rs_5f2',
      'output_item.added msg_5f2',
      'content_part.added msg_5f2',
      'output_text.delta msg_5f2',
      'output_text.done msg_5f2',
      'content_part.done msg_5f2',
      'output_item.done msg_5f2',
      'output_item.added fc_5f2',
      'function_call_arguments.delta fc_5f2',
      'function_call_arguments.done fc_5f2',
      'output_item.done fc_5f2',
      'output_item.added fc_5f2_2',
      'function_call_arguments.delta fc_5f2_2',
      'function_call_arguments.delta fc_5f2_2',
      'function_call_arguments.done fc_5f2_2',
      'output_item.done fc_5f2_2',
    ]);
  });

  it('are new items with new ids when a kind comes again', () => {
    const { items } = readResponse(
      written([{ reasoning: 'a' }, { content: 'b' }, { reasoning: 'c' }, { content: 'd' }]),
    );
    expect(items.map(({ id, content }) => [id, content?.[0]?.text])).toEqual([
      ['rs_5f2', 'a'],
      ['msg_5f2', 'b'],
      ['rs_5f2_2', 'c'],
      ['msg_5f2_2', 'd'],
    ]);
  });

  it('stay open while the arguments of calls alternate', () => {
    const { items } = readResponse(
      written([
        call(0, 'roll', '{"n":'),
        call(1, 'toss', '{'),
        more(0, '1}'),
        more(1, '}'),
        { content: 'Done.' },
      ]),
    );
    expect(items.map(item => item.arguments ?? item.content?.[0]?.text)).toEqual(['{"n":1}', '{}', 'Done.']);
  });

  it('start a call with its name, however late the name comes', () => {
    const text = written([
      call(0, '', '{"a'),
      more(0, '":1'),
      { tool_calls: [{ index: 0, function: { name: 'roll' } }] },
      more(0, '}'),
    ]);
    expect(readResponse(text).items).toMatchObject([
      { name: 'roll', call_id: 'call_0', arguments: '{"a":1}' },
    ]);
    expect(readResponse(written([call(0, '', '{}')])).items).toMatchObject([{ name: '', arguments: '{}' }]);
  });

  it('have two ids where the upstream gave two calls one id', () => {
    const { items } = readResponse(
      written([call(0, 'a', '{}', 'x'), call(1, 'b', '{}', 'x'), call(2, 'c', '{}', '')]),
    );
    expect(items.map(({ call_id }) => call_id)).toEqual(['x', 'x_2', 'call_3']);
  });

  it('are incomplete where they were cut off, and complete before that', () => {
    const { items, last } = readResponse(
      written(
        [{ reasoning: 'a' }, { content: 'b' }, call(0, 'roll', '{}'), call(1, 'toss', '{"n')],
        'length',
      ),
    );
    expect(items.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed', 'incomplete']);
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        completed_at: null,
      },
    });
  });

  it('are incomplete where they were cut off, also after a delta without text for one that is done', () => {
    const deltas = [call(0, 'roll', '{}'), call(1, 'toss', '{"n'), more(0, '')];
    const { items } = readResponse(written(deltas, 'length'));
    expect(items.map(({ status }) => status)).toEqual(['completed', 'incomplete']);
  });

  it('are refusals where the upstream refuses', () => {
    const { items, events } = readResponse(
      written([{ content: 'No.' }, { refusal: 'I ' }, { refusal: "can't." }]),
    );
    expect(items).toMatchObject([
      {
        id: 'msg_5f2',
        content: [
          { type: 'output_text', text: 'No.' },
          { type: 'refusal', refusal: "I can't." },
        ],
      },
    ]);
    expect(events.filter(({ type }) => type === 'response.refusal.delta')).toHaveLength(2);
  });

  it('leave out all choices but the first, since this API has one', () => {
    const stream = open();
    const text =
      stream.chunk(chunkOf({ content: 'one' })) +
      stream.chunk(chunkOf({ content: 'two' }, 'stop', 1)) +
      stream.chunk(chunkOf({}, 'stop')) +
      stream.end();
    expect(readResponse(text).items).toMatchObject([{ content: [{ text: 'one' }] }]);
  });

  it('do not grow after their end: more arguments are an error', () => {
    const stream = open();
    stream.chunk(chunkOf(call(0, 'roll', '{}')));
    stream.chunk(chunkOf(call(1, 'toss', '')));
    expect(stream.chunk(chunkOf(more(0, ' \n')))).toBe('');
    expect(() => stream.chunk(chunkOf(more(0, '{}')))).toThrow(
      expect.objectContaining({ code: 'provider_invalid' }),
    );
  });
});

describe('the usage in a response stream', () => {
  const usage = usageOf(12, 3, 4, { reasoning_tokens: 2 });
  const shown = {
    input_tokens: 12,
    output_tokens: 3,
    total_tokens: 15,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens_details: { reasoning_tokens: 2 },
  };
  const chunks = (): Chunk[] => [
    { ...chunkOf({ role: 'assistant', content: '' }), usage: usageOf(12, 0) },
    { ...chunkOf({ content: 'a' }), usage: usageOf(12, 1) },
    { ...chunkOf({}, 'stop'), usage },
  ];

  it('is on the last event, in the response and beside it', () => {
    const stream = open();
    const { events, last } = readResponse(
      chunks()
        .map(chunk => stream.chunk(chunk))
        .join('') + stream.end(),
    );
    expect(events.filter(event => 'usage' in event)).toEqual([last]);
    expect([last.usage, last.response?.usage]).toEqual([shown, shown]);
  });

  it('is on every event where the client asked for it', () => {
    const stream = open({ stream_options: { continuous_usage_stats: true } });
    const { events } = readResponse(
      chunks()
        .map(chunk => stream.chunk(chunk))
        .join('') + stream.end(),
    );
    const told = events.map(event => (event.usage as typeof shown).output_tokens);
    expect(told).toEqual([0, 0, 1, 1, 1, 3, 3, 3, 3]);
  });

  it('is null where it is unknown', () => {
    const { last } = readResponse(written([{ content: 'a' }]));
    expect(last.response?.usage).toBeNull();
    expect('usage' in last).toBe(false);
  });
});

describe('the log probabilities in a response stream', () => {
  const entry = (token: string) => ({ token, logprob: -0.5, bytes: [104], top_logprobs: [] });
  const chunk = (token: string): Chunk => ({
    choices: [
      { index: 0, delta: { content: token }, finish_reason: null, logprobs: { content: [entry(token)] } },
    ],
  });

  it.each([true, false])('stand beside the text where requested: %s', logprobs => {
    const stream = open({ parameters: { logprobs } });
    const text =
      stream.chunk(chunk('a')) + stream.chunk(chunk('b')) + stream.chunk(chunkOf({}, 'stop')) + stream.end();
    const { events, last } = readResponse(text);
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas).toMatchObject(
      logprobs
        ? [{ logprobs: [entry('a')] }, { logprobs: [entry('b')] }]
        : [{ logprobs: [] }, { logprobs: [] }],
    );
    const [part] = last.response!.output[0]!.content!;
    expect(part).toEqual({
      type: 'output_text',
      text: 'ab',
      annotations: [],
      ...(logprobs && { logprobs: [entry('a'), entry('b')] }),
    });
  });
});

describe('an error in a response stream', () => {
  const broke = refusal('provider_broke_off');
  const { message } = broke;

  it('is an event of its own and in the response, and ends the stream', () => {
    const stream = open();
    const before = eventsOf(stream.chunk(chunkOf({ content: 'a' }))).length;
    const events = eventsOf(stream.error(broke) + stream.end());
    expect(events.map(({ event, data }) => event ?? data)).toEqual(['error', 'response.failed', '[DONE]']);
    expect(events[0]?.json).toEqual({
      type: 'error',
      sequence_number: before,
      code: 'provider_error',
      message,
      param: null,
      error: { message, type: 'provider_error', code: 'provider_error', param: null },
    });
    expect(events[1]?.json).toMatchObject({
      sequence_number: before + 1,
      response: { status: 'failed', error: { code: 'server_error', message }, output: [], usage: null },
    });
  });

  it('before the first chunk follows response.created', () => {
    const stream = open();
    const events = eventsOf(stream.error(broke) + stream.end());
    expect(events.map(({ event, data }) => event ?? data)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
      '[DONE]',
    ]);
  });

  it('has the usage so far where the client asked for it', () => {
    const stream = open({ stream_options: { continuous_usage_stats: true } });
    stream.chunk({ ...chunkOf({ content: 'a' }), usage: usageOf(12, 1) });
    for (const { json } of eventsOf(stream.error(broke)))
      expect(json.usage).toMatchObject({ input_tokens: 12, output_tokens: 1 });
  });

  it.each([
    ['rate_limit_error', 'rate_limit_exceeded'],
    ['invalid_request_error', 'invalid_prompt'],
    ['server_error', 'server_error'],
    ['configuration_error', 'server_error'],
  ])('of type %s has the OpenAI code %s', (type, code) => {
    const [, , , failed] = eventsOf(open().error(new GatewayError(type, 400, 'No.')));
    expect(failed?.json).toMatchObject({ response: { error: { code, message: 'No.' } } });
  });

  it('has its own code and field where the envelope has them', () => {
    const error = refusal('invalid_request', { message: 'No.', param: 'input' });
    error.openaiFields = true;
    const [, , event] = eventsOf(open().error(error));
    expect(event?.json).toMatchObject({ code: 'invalid_request', param: 'input', error: { param: 'input' } });
  });

  it('ends a stream that has no finish reason', () => {
    const stream = open();
    const text = stream.chunk(chunkOf({ content: 'a' })) + stream.end();
    expect(
      eventsOf(text)
        .map(({ event, data }) => event ?? data)
        .slice(-3),
    ).toEqual(['error', 'response.failed', '[DONE]']);
  });
});
