import { describe, expect, it } from '@jest/globals';
import {
  EncryptedReasoning,
  encryptedContentOf,
} from '../../../../../plugins/dialects/responses/encrypted-reasoning.ts';
import type {
  ChatRequest,
  Choice,
  Delta,
  FinishReason,
  ReasoningDetail,
  ReplyMessage,
} from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { GatewayError, refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { identity, openStream, responsesOf } from '../../../src/gateway/dialects/renderings.ts';
import { type Item, readResponse, textsIn } from '../../../src/gateway/dialects/response-reader.ts';
import { eventsIn } from '../../../src/gateway/dialects/stream-readers.ts';

const usage = usageOf(12, 9, 4, { reasoning_tokens: 5 });
const placed = (placement: 'message' | 'item' | 'summary', encrypts = false): Partial<ChatRequest> => ({
  client: { kept: { placement, encrypts } },
});

function rendered(
  message: Partial<ReplyMessage>,
  request: Partial<ChatRequest> = {},
  more: Partial<Choice> = {},
) {
  const choice: Choice = {
    index: 0,
    message: { role: 'assistant', content: '', ...message },
    finish_reason: 'stop',
    ...more,
  };
  return JSON.parse(responsesOf('message').renderReply(identity(request), { choices: [choice], usage }));
}

/** A stream of these deltas, read to its end. */
function streamed(deltas: readonly Delta[], finish: FinishReason = 'stop', request = placed('item')) {
  const stream = openStream(responsesOf(), request);
  const chunks = [...deltas.map(delta => chunkOf(delta)), { ...chunkOf({}, finish), usage }];
  return readResponse(chunks.map(chunk => stream.chunk(chunk)).join('') + stream.end());
}

const status = 'completed';
const reasoning = 'The user greets me.';
const text = (said: string) => ({ type: 'output_text', text: said, annotations: [] });
const message = (...content: object[]) => ({
  id: 'msg_5f2',
  type: 'message',
  status,
  role: 'assistant',
  content,
});
const thought = (parts: { summary?: object[]; content?: object[] }) => ({
  ...{ id: 'rs_5f2', type: 'reasoning', status, summary: [], content: [] },
  ...parts,
});
const inContent = thought({ content: [{ type: 'reasoning_text', text: reasoning }] });
const inSummary = thought({ summary: [{ type: 'summary_text', text: reasoning }] });
const inMessage = { type: 'reasoning', text: reasoning };
const tool_calls = ['roll', 'toss'].map((name, at) => ({
  id: `call_${at + 1}`,
  type: 'function' as const,
  function: { name, arguments: at === 0 ? '{"d":20}' : '' },
}));
const called = { type: 'function_call', status };
const calls = [
  { id: 'fc_5f2', ...called, call_id: 'call_1', name: 'roll', arguments: '{"d":20}' },
  { id: 'fc_5f2_2', ...called, call_id: 'call_2', name: 'toss', arguments: '' },
];
const hello = { content: 'Hello.' };
const refused = message({ type: 'refusal', refusal: 'No.' });

describe('the output of a whole response', () => {
  it.each<[Partial<ReplyMessage>, object[], object[]]>([
    [{ ...hello, reasoning }, [message(inMessage, text('Hello.'))], [inContent, message(text('Hello.'))]],
    [{ ...hello, reasoning: '' }, [message(text('Hello.'))], [message(text('Hello.'))]],
    [{}, [message(text(''))], [message(text(''))]],
    [{ content: null, tool_calls }, calls, calls],
    [
      { content: null, reasoning, tool_calls },
      [message(inMessage, text('')), ...calls],
      [inContent, ...calls],
    ],
    [
      { ...hello, reasoning, tool_calls },
      [message(inMessage, text('Hello.')), ...calls],
      [inContent, message(text('Hello.')), ...calls],
    ],
    [{ content: null, refusal: 'No.' }, [refused], [refused]],
  ])('of %j has the items of its placement', (said, asMessage, asItem) => {
    expect(rendered(said, placed('message')).output).toEqual(asMessage);
    expect(rendered(said, placed('item')).output).toEqual(asItem);
    const asSummary = asItem.map(item => (item === inContent ? inSummary : item));
    expect(rendered(said, placed('summary')).output).toEqual(asSummary);
  });

  it.each<[string, Partial<ReplyMessage>, string, string]>([
    ['in the reasoning', { reasoning }, 'i', 'i i'],
    ['in the text', { ...hello, reasoning }, 'i', 'c i'],
    ['in a call', { ...hello, reasoning, tool_calls }, 'c c i', 'c c c i'],
  ])('is incomplete where it was cut off %s', (_, said, asMessage, asItem) => {
    for (const [finish_reason, reason] of [
      ['length', 'max_output_tokens'],
      ['content_filter', 'content_filter'],
    ] as const) {
      const response = rendered(said, placed('message'), { finish_reason });
      const cut = { status: 'incomplete', incomplete_details: { reason }, completed_at: null, error: null };
      expect(response).toMatchObject(cut);
      const statuses = ({ output }: { output: Item[] }) =>
        output.map(({ status: [first] }) => first).join(' ');
      expect(statuses(response)).toBe(asMessage);
      expect(statuses(rendered(said, placed('item'), { finish_reason }))).toBe(asItem);
    }
  });

  it('has log probabilities only where they were requested', () => {
    const logprobs = { content: [{ token: 'Hi', logprob: -1, bytes: [72, 105], top_logprobs: [] }] };
    const asked = { parameters: { logprobs: true } };
    const of = (request: object, more: object) => rendered({ content: 'Hi' }, request, more).output;
    expect(of(asked, { logprobs })).toEqual([message({ ...text('Hi'), logprobs: logprobs.content })]);
    expect(of(asked, {})).toEqual([message({ ...text('Hi'), logprobs: [] })]);
    expect(of({}, { logprobs })).toEqual([message(text('Hi'))]);
  });
});

describe('the echo of the request in a response', () => {
  const tool = { type: 'function' as const, function: { name: 'roll', parameters: { type: 'object' } } };
  const json_schema = { name: 'dice', schema: {}, strict: true };
  const shownTool = {
    type: 'function',
    name: 'roll',
    description: null,
    parameters: { type: 'object' },
    strict: null,
  };

  const sampling = { top_p: 0.5, presence_penalty: 0.5, frequency_penalty: -0.5, top_logprobs: 2 };
  const named = { user: 'me', prompt_cache_key: 'k' };
  const roll = { type: 'function', function: { name: 'roll' } };
  const plain = { temperature: 1, top_p: 1, metadata: {}, tools: [], tool_choice: 'auto' };
  it.each<[Partial<ChatRequest>, object]>([
    [{}, { ...plain, parallel_tool_calls: true }],
    [
      { temperature: 0, parameters: { ...sampling, ...named } },
      { temperature: 0, ...sampling, ...named },
    ],
    [{ parameters: { temperature: 0.3 } }, { temperature: 0.3 }],
    [
      { max_tokens: 50, metadata: { a: 'b' } },
      { max_output_tokens: 50, metadata: { a: 'b' } },
    ],
    [{ reasoning_effort: 'low' }, { reasoning: { effort: 'low', summary: null } }],
    [{ tools: [tool] }, { tools: [shownTool] }],
    [{ client: { echo: { instructions: 'Brief.', store: true } } }, { instructions: 'Brief.', store: true }],
    [{ parameters: { tool_choice: roll } }, { tool_choice: { type: 'function', name: 'roll' } }],
    [{ parameters: { tool_choice: 'none' } }, { tool_choice: 'none' }],
    [{ parameters: { parallel_tool_calls: false } }, { parallel_tool_calls: false }],
    [
      { parameters: { response_format: { type: 'json_schema', json_schema } } },
      { text: { format: { type: 'json_schema', ...json_schema } } },
    ],
    [
      { parameters: { response_format: { type: 'json_object' } } },
      { text: { format: { type: 'json_object' } } },
    ],
  ])('of %j has %j', (request, echo) => {
    expect(rendered(hello, request)).toMatchObject({ ...echo, background: false, truncation: 'disabled' });
  });
});

const call = (index: number, name: string, args: string, id = `call_${index}`): Delta => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }],
});
const more = (index: number, args: string): Delta => ({
  tool_calls: [{ index, function: { arguments: args } }],
});
/** An item in a line: its ids, what it is, and its status if it is not completed. */
const lineOf = (item: Item) =>
  [
    item.id,
    item.call_id,
    item.name,
    item.arguments ??
      textsIn(item)
        .map(part => part.text ?? part.refusal)
        .join('+'),
    ...(item.status === status ? [] : [item.status]),
  ]
    .filter(part => part !== undefined)
    .join(' ');

describe('the output items of a stream', () => {
  it.each<[string, Delta[], FinishReason, string[]]>([
    [
      'are new ones when a kind comes again',
      [{ reasoning: 'a' }, { content: 'b' }, { reasoning: 'c' }, { content: 'd' }],
      'stop',
      ['rs_5f2 a', 'msg_5f2 b', 'rs_5f2_2 c', 'msg_5f2_2 d'],
    ],
    [
      'stay open while the arguments of calls alternate',
      [call(0, 'roll', '{"n":'), call(1, 'toss', '{'), more(0, '1}'), more(1, '}'), hello],
      'stop',
      ['fc_5f2 call_0 roll {"n":1}', 'fc_5f2_2 call_1 toss {}', 'msg_5f2 Hello.'],
    ],
    ['start a call without a name at the end', [call(0, '', '{}')], 'stop', ['fc_5f2 call_0  {}']],
    [
      'are incomplete where they were cut off',
      [{ reasoning: 'a' }, hello, call(0, 'roll', '{}'), call(1, 'toss', '{"n')],
      'length',
      ['rs_5f2 a', 'msg_5f2 Hello.', 'fc_5f2 call_0 roll {}', 'fc_5f2_2 call_1 toss {"n incomplete'],
    ],
    [
      'are incomplete where arguments came last, though another call was opened later',
      [call(0, 'roll', '{"a'), call(1, 'toss', '{"n'), more(0, '":')],
      'length',
      ['fc_5f2 call_0 roll {"a": incomplete', 'fc_5f2_2 call_1 toss {"n'],
    ],
    [
      'are complete once they are done, whatever empty delta follows',
      [call(0, 'roll', '{}'), call(1, 'toss', '{"n'), more(0, '')],
      'length',
      ['fc_5f2 call_0 roll {}', 'fc_5f2_2 call_1 toss {"n incomplete'],
    ],
  ])('%s', (_, deltas, finish, expected) => {
    expect(streamed(deltas, finish).items.map(lineOf)).toEqual(expected);
  });

  it('follow one another, each done before the next begins', () => {
    const deltas = [
      { reasoning: 'a' },
      { content: 'b' },
      call(0, 'roll', '{}'),
      call(1, 'toss', '{"n":'),
      more(1, '1}'),
    ];
    const { events } = streamed(deltas);
    const order = events
      .slice(2, -1)
      .map(({ type, item_id, item }) => `${item_id ?? item?.id} ${type.slice(9)}`);
    const eventsOf = (id: string, names: string) => names.split(' ').map(name => `${id} ${name}`);
    const args = 'function_call_arguments';
    expect(order).toEqual([
      ...eventsOf(
        'rs_5f2',
        'output_item.added content_part.added reasoning_text.delta reasoning_text.done content_part.done output_item.done',
      ),
      ...eventsOf(
        'msg_5f2',
        'output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done',
      ),
      ...eventsOf('fc_5f2', `output_item.added ${args}.delta ${args}.done output_item.done`),
      ...eventsOf('fc_5f2_2', `output_item.added ${args}.delta ${args}.delta ${args}.done output_item.done`),
    ]);
  });

  it('do not grow after their end: more arguments are an error', () => {
    const stream = openStream(responsesOf());
    for (const delta of [call(0, 'roll', '{}'), call(1, 'toss', '')]) stream.chunk(chunkOf(delta));
    expect(stream.chunk(chunkOf(more(0, ' \n')))).toBe('');
    const invalid = expect.objectContaining({ code: 'provider_invalid' });
    expect(() => stream.chunk(chunkOf(more(0, '{}')))).toThrow(invalid);
  });
});

describe('an error in a response stream', () => {
  it.each([
    ['rate_limit_error', 'rate_limit_exceeded'],
    ['invalid_request_error', 'invalid_prompt'],
    ['server_error', 'server_error'],
    ['configuration_error', 'server_error'],
  ])('of type %s has the OpenAI code %s', (type, code) => {
    const [, , error, failed] = eventsIn(openStream(responsesOf()).error(new GatewayError(type, 400, 'No.')));
    expect(error?.json).toMatchObject({ code: type, error: { type, code: type } });
    expect(failed?.json).toMatchObject({ response: { error: { code, message: 'No.' } } });
  });

  it('has its own code and field where the envelope has them, and the usage so far where it was asked for', () => {
    const error = refusal('invalid_request', { message: 'No.', param: 'input' });
    error.openaiFields = true;
    const stream = openStream(responsesOf(), { stream_options: { continuous_usage_stats: true } });
    stream.chunk({ ...chunkOf({ content: 'a' }), usage: usageOf(12, 1) });
    const [event, failed] = eventsIn(stream.error(error));
    const told = { code: 'invalid_request', param: 'input' };
    expect(event?.json).toMatchObject({
      ...told,
      error: told,
      usage: { input_tokens: 12, output_tokens: 1 },
    });
    expect(failed?.json).toMatchObject({ usage: { input_tokens: 12, output_tokens: 1 } });
  });
});

describe('signed reasoning in a response', () => {
  const signed: ReasoningDetail[] = [{ type: 'reasoning.text', text: reasoning, signature: 'sig' }];
  const hidden = [{ type: 'reasoning.encrypted', data: 'abc' }];
  const later = [{ type: 'reasoning.encrypted', data: 'def' }];
  const whole = (request: Partial<ChatRequest>, reasoning_details: ReasoningDetail[]) =>
    rendered({ ...hello, reasoning, reasoning_details }, request).output[0];

  it('is in the reasoning item of a request that asks for it', () => {
    expect(whole(placed('summary', true), signed)).toEqual({
      ...inSummary,
      encrypted_content: encryptedContentOf(signed),
    });
    expect(whole(placed('summary'), signed)).toEqual(inSummary);
    // Some clients send reasoning back only with it.
    expect(whole(placed('item', true), [])).toEqual({
      ...inContent,
      encrypted_content: encryptedContentOf([]),
    });
    const large = [{ type: 'reasoning.encrypted', data: 'x'.repeat(2_000_000) }];
    expect(whole(placed('item', true), large)).toEqual(inContent);
  });

  it('is streamed with the item that is done, and has one of its own without text or behind the answer', () => {
    const of = (...deltas: Delta[]) => streamed(deltas, 'stop', placed('item', true));
    const linesOf = (...deltas: Delta[]) =>
      of(...deltas).items.map(item => [
        lineOf(item),
        new EncryptedReasoning().detailsIn(item.encrypted_content ?? ''),
      ]);
    const alone = ['rs_5f2 ', hidden];
    const said = ['msg_5f2 Hello.', undefined];
    const { events } = of({ reasoning }, { reasoning_details: signed });
    const added = events.find(({ type }) => type === 'response.output_item.added');
    expect(added?.item).not.toHaveProperty('encrypted_content');
    expect(linesOf({ reasoning_details: hidden }, hello)).toEqual([alone, said]);
    expect(linesOf(hello, { reasoning_details: hidden })).toEqual([said, alone]);
    expect(linesOf({ reasoning_details: hidden })).toEqual([alone, ['msg_5f2 ', undefined]]);
    const again = linesOf({ reasoning_details: hidden }, hello, { reasoning_details: later });
    expect(again).toEqual([alone, said, ['rs_5f2_2 ', later]]);
  });
});
