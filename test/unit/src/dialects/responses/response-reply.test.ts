import { describe, expect, it } from '@jest/globals';
import { type ChatRequest, type Choice, type ReplyMessage, usageOf } from '../../../../../src/canonical.ts';
import { responses } from '../../../../../src/dialects/responses/index.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const reasoned = { role: 'assistant' as const, reasoning: 'The user greets me.' };
const tool_calls = [
  { id: 'call_1', type: 'function' as const, function: { name: 'roll', arguments: '{"d":20}' } },
  { id: 'call_2', type: 'function' as const, function: { name: 'toss', arguments: '' } },
];
const usage = usageOf(12, 9, 4, { reasoning_tokens: 5 });

interface Rendered {
  readonly status: string;
  readonly output: { type: string; status: string }[];
  readonly [field: string]: unknown;
}

function rendered(
  placement: 'message' | 'item',
  message: ReplyMessage,
  finish_reason: Choice['finish_reason'] = 'stop',
  request: Partial<ChatRequest> = {},
  more: Partial<Choice> = {},
): Rendered {
  const identity = {
    key: '5f2',
    created: 1_795_132_800,
    model: 'aion-labs/aion-3.5',
    request: sampleRequest(request),
    now_s: () => 1_795_132_801,
  };
  const reply = { choices: [{ index: 0, message, finish_reason, ...more }], usage };
  return JSON.parse(
    responses.create({ reasoning_placement: placement }, { models: [] }).renderReply(identity, reply),
  ) as Rendered;
}

const text = (said: string) => ({ type: 'output_text', text: said, annotations: [] });
const message = (...content: object[]) => ({
  id: 'msg_5f2',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content,
});
const reasoningItem = {
  id: 'rs_5f2',
  type: 'reasoning',
  status: 'completed',
  summary: [],
  content: [{ type: 'reasoning_text', text: 'The user greets me.' }],
};
const reasoningPart = { type: 'reasoning', text: 'The user greets me.' };
const calls = [
  {
    id: 'fc_5f2',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_1',
    name: 'roll',
    arguments: '{"d":20}',
  },
  {
    id: 'fc_5f2_2',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_2',
    name: 'toss',
    arguments: '',
  },
];

describe('the output of a whole reply', () => {
  it.each<[string, ReplyMessage, object[], object[]]>([
    [
      'reasoning and text',
      { ...reasoned, content: 'Hello.' },
      [message(reasoningPart, text('Hello.'))],
      [reasoningItem, message(text('Hello.'))],
    ],
    [
      'text',
      { role: 'assistant', content: 'Hello.', reasoning: '' },
      [message(text('Hello.'))],
      [message(text('Hello.'))],
    ],
    ['nothing', { role: 'assistant', content: '' }, [message(text(''))], [message(text(''))]],
    ['calls', { role: 'assistant', content: null, tool_calls }, calls, calls],
    [
      'reasoning and calls',
      { ...reasoned, content: null, tool_calls },
      [message(reasoningPart, text('')), ...calls],
      [reasoningItem, ...calls],
    ],
    [
      'everything',
      { ...reasoned, content: 'I roll.', tool_calls },
      [message(reasoningPart, text('I roll.')), ...calls],
      [reasoningItem, message(text('I roll.')), ...calls],
    ],
    [
      'a refusal',
      { role: 'assistant', content: null, refusal: 'No.' },
      [message({ type: 'refusal', refusal: 'No.' })],
      [message({ type: 'refusal', refusal: 'No.' })],
    ],
  ])('is %s', (_, said, inMessage, asItem) => {
    expect(rendered('message', said).output).toEqual(inMessage);
    expect(rendered('item', said).output).toEqual(asItem);
  });

  it.each<[string, ReplyMessage, string[], string[]]>([
    ['in the reasoning', { ...reasoned, content: '' }, ['incomplete'], ['incomplete', 'incomplete']],
    ['in the text', { ...reasoned, content: 'Hel' }, ['incomplete'], ['completed', 'incomplete']],
    [
      'in a call',
      { ...reasoned, content: 'I roll.', tool_calls },
      ['completed', 'completed', 'incomplete'],
      ['completed', 'completed', 'completed', 'incomplete'],
    ],
  ])('is incomplete where it was cut off %s', (_, said, inMessage, asItem) => {
    for (const [finish, reason] of [
      ['length', 'max_output_tokens'],
      ['content_filter', 'content_filter'],
    ] as const) {
      const response = rendered('message', said, finish);
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason },
        completed_at: null,
        error: null,
      });
      expect(response.output.map(({ status }) => status)).toEqual(inMessage);
      expect(rendered('item', said, finish).output.map(({ status }) => status)).toEqual(asItem);
    }
  });

  it('has log probabilities where they were requested', () => {
    const entry = { token: 'Hi', logprob: -1, bytes: [72, 105], top_logprobs: [] };
    const more = { logprobs: { content: [entry] } };
    const said: ReplyMessage = { role: 'assistant', content: 'Hi' };
    expect(rendered('message', said, 'stop', { parameters: { logprobs: true } }, more).output).toEqual([
      message({ ...text('Hi'), logprobs: [entry] }),
    ]);
    expect(rendered('message', said, 'stop', {}, more).output).toEqual([message(text('Hi'))]);
  });
});

describe('the echo of the request in a response', () => {
  const said: ReplyMessage = { role: 'assistant', content: 'Hi' };

  it('has numbers for temperature and top_p, whether they were given or not', () => {
    expect(rendered('message', said)).toMatchObject({ temperature: 1, top_p: 1, metadata: {}, tools: [] });
    expect(rendered('message', said, 'stop', { temperature: 0, parameters: { top_p: 0.5 } })).toMatchObject({
      temperature: 0,
      top_p: 0.5,
    });
    expect(rendered('message', said, 'stop', { parameters: { temperature: 0.3 } })).toMatchObject({
      temperature: 0.3,
    });
  });

  it('uses the field names of the Responses API', () => {
    const tool = { type: 'function' as const, function: { name: 'roll', parameters: { type: 'object' } } };
    const response = rendered('message', said, 'stop', {
      max_tokens: 50,
      metadata: { a: 'b' },
      reasoning_effort: 'low',
      tools: [tool],
      client: { echo: { instructions: 'Be brief.' } },
      parameters: {
        tool_choice: { type: 'function', function: { name: 'roll' } },
        parallel_tool_calls: false,
        top_logprobs: 2,
        presence_penalty: 0.5,
        frequency_penalty: -0.5,
        user: 'me',
        response_format: { type: 'json_schema', json_schema: { name: 'dice', schema: {}, strict: true } },
      },
    });
    expect(response).toMatchObject({
      instructions: 'Be brief.',
      max_output_tokens: 50,
      metadata: { a: 'b' },
      reasoning: { effort: 'low', summary: null },
      tools: [
        { type: 'function', name: 'roll', description: null, parameters: { type: 'object' }, strict: null },
      ],
      tool_choice: { type: 'function', name: 'roll' },
      parallel_tool_calls: false,
      top_logprobs: 2,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      user: 'me',
      text: { format: { type: 'json_schema', name: 'dice', schema: {}, strict: true } },
    });
    const json = rendered('message', said, 'stop', {
      parameters: { tool_choice: 'none', response_format: { type: 'json_object' } },
    });
    expect(json).toMatchObject({ tool_choice: 'none', text: { format: { type: 'json_object' } } });
  });
});
