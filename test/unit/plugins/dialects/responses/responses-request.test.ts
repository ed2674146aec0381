import { describe, expect, it } from '@jest/globals';
import { responsesRequest } from '../../../../../plugins/dialects/responses/responses-fields.ts';
import type { ChatRequest, Message } from '../../../../../src/gateway/exchange/canonical.ts';
import { costGrowth, most_growth } from '../../../../support/cost-growth.ts';
import { responsesOf } from '../../../src/gateway/dialects/renderings.ts';

const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const parse = (fields: object): ChatRequest =>
  responsesOf('message').parse({ model: 'a/b', ...fields }, context);
const kept = { placement: 'message' };
const names = { max_tokens: 'max_output_tokens', messages: 'input', response_format: 'text.format' };
const hello = [{ role: 'user' as const, content: 'Hello' }];
const least: ChatRequest = {
  ...{ model: 'a/b', messages: hello, stream: false, parameters: {}, unknown: {} },
  client: { field_names: names, kept },
};
const parameters = { type: 'object' };
const tool = { type: 'function', name: 'roll', description: 'Rolls.', parameters, strict: true };
const chatTool = {
  type: 'function' as const,
  function: { name: 'roll', description: 'Rolls.', parameters, strict: true },
};
const json_schema = { name: 'dice', schema: parameters, strict: true };
const echo = {
  truncation: 'auto',
  service_tier: 'flex',
  max_tool_calls: 3,
  safety_identifier: 's',
};

describe('the parser of Responses requests', () => {
  it('accepts the required fields alone, and reads null as absent', () => {
    expect(parse({ input: 'Hello' })).toEqual(least);
    const { messages: _, ...own } = names;
    expect(parse({ messages: hello })).toEqual({ ...least, client: { field_names: own, kept } });
    const optional = [...Object.keys(responsesRequest.shape), 'other'].filter(
      name => !/^(model|input)$/.test(name),
    );
    expect(optional.length).toBeGreaterThan(30);
    expect(parse({ input: 'Hello', ...Object.fromEntries(optional.map(name => [name, null])) })).toEqual(
      least,
    );
    expect(parse({ input: 'Hello', reasoning: { effort: null }, text: { format: null } })).toEqual(least);
  });

  it.each<[object, Partial<ChatRequest>]>([
    [{ reasoning_effort: 'low', reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }],
    [
      { reasoning: { effort: 'low' } },
      {
        reasoning_effort: 'low',
        client: { field_names: { ...names, reasoning_effort: 'reasoning.effort' }, kept },
      },
    ],
    [
      { stream: true, stream_options: { continuous_usage_stats: true, include_obfuscation: false } },
      { stream: true, stream_options: { continuous_usage_stats: true } },
    ],
    [{ tools: [] }, { tools: [] }],
    [{ tools: [tool] }, { tools: [chatTool] }],
    [
      { tools: [{ type: 'function', name: 'roll', description: null, parameters: null, strict: null }] },
      { tools: [{ type: 'function', function: { name: 'roll' } }] },
    ],
    [
      { tool_choice: { type: 'function', name: 'roll' } },
      { parameters: { tool_choice: { type: 'function', function: { name: 'roll' } } } },
    ],
    [{ text: { format: { type: 'text' } } }, {}],
    [
      { text: { format: { type: 'json_object' } } },
      { parameters: { response_format: { type: 'json_object' } } },
    ],
    [
      { text: { format: { type: 'json_schema', ...json_schema } } },
      { parameters: { response_format: { type: 'json_schema', json_schema } } },
    ],
    [{ top_logprobs: 3 }, { parameters: { logprobs: true, top_logprobs: 3 } }],
    [{ top_logprobs: 0 }, {}],
    [{ include: ['message.output_text.logprobs'] }, { parameters: { logprobs: true } }],
    [
      { ...echo, store: true, background: false, prompt_cache_retention: '24h' },
      { client: { ...least.client, echo } },
    ],
    [
      { top_k: 5, reasoning: { summary: 'auto' }, text: { verbosity: 'low' } },
      { unknown: { top_k: 5, 'reasoning.summary': 'auto', 'text.verbosity': 'low' } },
    ],
    [
      { stream: true, stream_options: { include_obfuscation: false, chunked: true } },
      { stream: true, stream_options: {}, unknown: { 'stream_options.chunked': true } },
    ],
  ])('reads %j as %j', (fields, expected) => {
    expect(parse({ input: 'Hello', ...fields })).toEqual({ ...least, ...expected });
  });

  it('puts instructions first and keeps them for the reply', () => {
    for (const asked of [{ input: 'Hello' }, { messages: hello }]) {
      const { messages, client } = parse({ ...asked, instructions: 'Be brief.' });
      expect(messages).toEqual([{ role: 'system', content: 'Be brief.' }, ...hello]);
      expect(client?.echo?.instructions).toBe('Be brief.');
    }
    expect(parse({ input: 'Hello', instructions: '' })).toEqual(least);
  });
});

describe('the parser of input items', () => {
  const call = (call_id: string, name = 'roll') => ({
    type: 'function_call',
    call_id,
    name,
    arguments: '{}',
  });
  const chatCall = (id: string, name = 'roll') => ({
    id,
    type: 'function' as const,
    function: { name, arguments: '{}' },
  });
  const output = (call_id: string, text: unknown = '17') => ({
    type: 'function_call_output',
    call_id,
    output: text,
  });
  const answer = (id: string, content = '17') => ({ role: 'tool', tool_call_id: id, content });
  const user = { role: 'user', content: 'Roll.' };
  const said = (content: unknown) => ({ role: 'assistant', content });
  const calling = (content: unknown, ...tool_calls: object[]) => ({ ...said(content), tool_calls });
  const texts = (...all: string[]) => all.map(text => ({ type: 'text', text }));
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], content: [] };
  const thought = { type: 'reasoning', text: 'Hm.' };

  it.each<[string, unknown[], object[]]>([
    ['a message with its type', [{ type: 'message', ...user }], [user]],
    [
      'what clients copy',
      [{ type: 'message', id: 'm', status: 'completed', phase: 'commentary', ...said('a') }],
      [said('a')],
    ],
    ['a message of a developer', [{ role: 'developer', content: 'a' }], [{ role: 'system', content: 'a' }]],
    [
      'one part',
      [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }],
      [{ role: 'user', content: 'a' }],
    ],
    [
      'several parts',
      [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'output_text', text: 'b', annotations: [] },
            ...texts('c'),
          ],
        },
      ],
      [{ role: 'user', content: texts('a', 'b', 'c') }],
    ],
    [
      'a reply of the gateway',
      [said([thought, { type: 'output_text', text: 'a', annotations: [], logprobs: [] }])],
      [{ ...said('a'), reasoning: 'Hm.' }],
    ],
    ['a reply without text', [said([thought])], [{ ...said(''), reasoning: 'Hm.' }]],
    ['a refusal', [said([{ type: 'refusal', refusal: 'No.' }])], [said('No.')]],
    ['a name', [{ ...user, name: 'Ann' }], [{ ...user, name: 'Ann' }]],
    [
      'calls behind a message, across any reasoning between',
      [
        user,
        reasoning,
        said([{ type: 'output_text', text: 'I roll.' }]),
        reasoning,
        call('c1'),
        output('c1'),
      ],
      [user, calling('I roll.', chatCall('c1')), answer('c1')],
    ],
    // Servers refuse an empty text beside calls.
    [
      'calls behind reasoning alone',
      [said([thought]), call('c1')],
      [{ ...calling(null, chatCall('c1')), reasoning: 'Hm.' }],
    ],
    [
      'text between calls, which stands ahead of their outputs',
      [user, said('First.'), call('c1'), said('Then.'), call('c2'), output('c1'), output('c2')],
      [user, calling('First.\nThen.', chatCall('c1'), chatCall('c2')), answer('c1'), answer('c2')],
    ],
    [
      'parts between calls',
      [
        said('First.'),
        call('c1'),
        said([
          { type: 'output_text', text: 'a' },
          { type: 'output_text', text: 'b' },
        ]),
        output('c1'),
      ],
      [calling(texts('First.', 'a', 'b'), chatCall('c1')), answer('c1')],
    ],
    ['messages without calls, which are not joined', [said('a'), said('b')], [said('a'), said('b')]],
    [
      'messages behind an answer',
      [call('c1'), output('c1'), said('a'), said('b')],
      [calling(null, chatCall('c1')), answer('c1'), said('a'), said('b')],
    ],
    [
      'chat messages with their calls and answers',
      [calling(null, chatCall('c1')), answer('c1'), output('c1')],
      [calling(null, chatCall('c1')), answer('c1'), answer('c1')],
    ],
    [
      'an output in parts',
      [call('c1'), output('c1', [{ type: 'input_text', text: '17' }])],
      [calling(null, chatCall('c1')), answer('c1')],
    ],
  ])('reads %s', (_, input, expected) => {
    expect(parse({ input }).messages).toEqual(expected as unknown as Message[]);
  });
});

describe('a hostile Responses request', () => {
  it('sets no prototype', () => {
    const text = `{"model":"a/b","input":[{"role":"user","content":"a","__proto__":{"x":1}}],
      "__proto__":{"polluted":true},"reasoning":{"__proto__":{"effort":7}},"text":{"__proto__":{"format":7}},
      "tools":[{"type":"function","name":"a","__proto__":{"x":1},"parameters":{"__proto__":{"x":1}}}],"constructor":1}`;
    const request = parse(JSON.parse(text));
    for (const value of [request, request.unknown, request.messages[0], request.tools?.[0]?.function])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(request.reasoning_effort).toBeUndefined();
    const places = ['', 'reasoning.', 'text.', 'input.', 'tools.'].map(place => `${place}__proto__`);
    expect(Object.keys(request.unknown).toSorted()).toEqual([...places, 'constructor'].toSorted());
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  const call = (at: number) => ({ type: 'function_call', call_id: `c${at}`, name: 'a', arguments: '{}' });
  const texts = Array(2).fill({ type: 'output_text', text: 'a' });
  const said = (at: number) => (at === 1 ? call(at) : { role: 'assistant', content: texts });

  it.each([
    ['calls', call],
    ['texts around a call', said],
  ])('of very many %s takes linear time', async (_, item) => {
    const growth = await costGrowth(size => {
      const input = Array.from({ length: size }, (_, at) => item(at));
      return () => parse({ input });
    }, 2000);
    expect(growth).toBeLessThan(most_growth);
  });

  it('of very many items has them in one message', () => {
    const [calls] = parse({ input: Array.from({ length: 300 }, (_, at) => call(at)) }).messages;
    expect(calls?.tool_calls).toHaveLength(300);
    const [joined] = parse({ input: Array.from({ length: 300 }, (_, at) => said(at)) }).messages;
    expect(joined?.content).toHaveLength(2 * 299);
  });
});
