import { describe, expect, it } from '@jest/globals';
import { messages, messagesCount } from '../../../../../plugins/dialects/messages/index.ts';
import { defaultModels } from '../../../../../src/config/example-models.ts';
import { modelSchema } from '../../../../../src/config/model-schema.ts';
import type { Model } from '../../../../../src/gateway/catalog/catalog.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';

const models = defaultModels('x').map(
  entry => ({ ...modelSchema.parse(entry), extra_parameters: [] }) as Model,
);
const dialect = messages.create({ enabled: true }, { models });
const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
const image_url = { url: 'https://example.com/a.png' };
const [newer, older, plain] = ['aion-labs/aion-3.5', 'aion-labs/aion-3.0', 'aion-labs/aion-rp-llama-3.1-8b'];

const parsed = (fields: object): ChatRequest =>
  dialect.parse({ model: newer, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...fields });
const said = (...content: object[]) => parsed({ messages: [{ role: 'user', content }] }).messages;
const answered = (...content: object[]) => parsed({ messages: [{ role: 'assistant', content }] }).messages[0];
const cache_control = { type: 'ephemeral', ttl: '1h' };

describe('a Messages request in the canonical form', () => {
  it('has its parameters under the names of chat completions', () => {
    expect(
      parsed({
        stop_sequences: ['###'],
        temperature: 0.5,
        top_p: 0.9,
        stream: true,
        metadata: { user_id: 'u-1' },
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
        tools: [{ name: 'roll', description: 'Rolls.', input_schema: { type: 'object' }, cache_control }],
        output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
      }),
    ).toEqual({
      model: newer,
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      max_tokens: 100,
      stop: ['###'],
      temperature: 0.5,
      tools: [
        {
          type: 'function',
          function: { name: 'roll', description: 'Rolls.', parameters: { type: 'object' } },
          cache_control,
        },
      ],
      parameters: {
        top_p: 0.9,
        user: 'u-1',
        tool_choice: 'auto',
        parallel_tool_calls: false,
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'output', schema: { type: 'object' }, strict: true },
        },
      },
      unknown: {},
      client: { field_names: expect.objectContaining({ stop: 'stop_sequences' }) },
    });
  });

  it('reads null as absent', () => {
    const nothing = { system: null, tools: null, tool_choice: null, thinking: null, output_config: null };
    const none = { ...nothing, temperature: null, stop_sequences: null, metadata: null, container: null };
    expect(parsed({ ...none, stream: null, top_k: null, cache_control: null })).toEqual(parsed({}));
  });

  it.each<[unknown, unknown]>([
    ['Be brief.', 'Be brief.'],
    [[{ type: 'text', text: 'Be brief.' }], 'Be brief.'],
    [
      [{ type: 'text', text: 'Be brief.', cache_control }],
      [{ type: 'text', text: 'Be brief.', cache_control }],
    ],
    ['', undefined],
    [[], undefined],
  ])('begins with the system prompt %j as %j', (system, content) => {
    const user = { role: 'user', content: 'Hi' };
    expect(parsed({ system }).messages).toEqual(
      content === undefined ? [user] : [{ role: 'system', content }, user],
    );
  });

  it('has a tool message for each result, before what the user says beside them', () => {
    const see = { type: 'text', text: 'See' };
    const result = (tool_use_id: string, more: object) => ({ type: 'tool_result', tool_use_id, ...more });
    const answer = (tool_call_id: string, content: unknown) => ({ role: 'tool', tool_call_id, content });
    expect(
      said(
        result('a', { content: 'Seventeen' }),
        { type: 'text', text: 'And now?' },
        result('b', { content: [see, image] }),
        result('c', {}),
        result('d', { content: 'Three', cache_control }),
        result('e', { content: [see, image], cache_control }),
        result('f', { content: [{ type: 'tool_reference', tool_name: 'roll' }] }),
      ),
    ).toEqual([
      answer('a', 'Seventeen'),
      answer('b', [see, { type: 'image_url', image_url }]),
      answer('c', ''),
      answer('d', [{ type: 'text', text: 'Three', cache_control }]),
      answer('e', [see, { type: 'image_url', image_url, cache_control }]),
      answer('f', [{ type: 'text', text: '[tool reference: roll]', tool_reference: 'roll' }]),
      { role: 'user', content: 'And now?' },
    ]);
  });

  it('has signed thinking as reasoning and its details, and calls with arguments as text', () => {
    expect(
      answered(
        { type: 'thinking', thinking: 'One.', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
        { type: 'thinking', thinking: 'Two.', signature: 'bmF0' },
        { type: 'text', text: 'I roll.' },
        { type: 'tool_use', id: 'a', name: 'roll', input: { sides: 20 } },
      ),
    ).toEqual({
      role: 'assistant',
      content: 'I roll.',
      reasoning: 'One.\nTwo.',
      reasoning_details: [
        { type: 'reasoning.text', text: 'One.', signature: 'c2ln', format: 'anthropic-claude-v1' },
        { type: 'reasoning.encrypted', data: 'ZGF0YQ==', format: 'anthropic-claude-v1' },
        { type: 'reasoning.text', text: 'Two.', signature: 'bmF0', format: 'anthropic-claude-v1' },
      ],
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'roll', arguments: '{"sides":20}' } }],
    });
  });

  it.each([{}, { signature: '' }, { signature: null }])('has thinking with %j as reasoning alone', signed => {
    const call = { type: 'tool_use', id: 'a', name: 'roll', input: {} };
    expect(answered({ type: 'thinking', thinking: 'Hm.', ...signed }, call)).toEqual({
      role: 'assistant',
      content: null,
      reasoning: 'Hm.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'roll', arguments: '{}' } }],
    });
  });

  it('has thinking once whose signature came in a block of its own', () => {
    const detail = { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', format: 'x' };
    const signature = `sluice-detail-v1:${Buffer.from(JSON.stringify(detail)).toString('base64')}`;
    const blocks = [
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: 'Yes.' },
      { type: 'thinking', thinking: '', signature },
    ];
    expect(answered(...blocks)).toMatchObject({ reasoning: 'Hm.', reasoning_details: [detail] });
  });

  const tool_use = { type: 'tool_use', id: 'a', name: 'roll', input: {} };
  const marked = { type: 'text', text: 'Hi', cache_control };
  const own = { type: 'ephemeral', ttl: '5m' };
  it.each<[string, object, object]>([
    ['a text', { role: 'user', content: 'Hi' }, { content: [marked] }],
    [
      'the last part',
      { role: 'user', content: [image, { type: 'text', text: 'Hi' }] },
      { content: [{ image_url }, marked] },
    ],
    ['a call', { role: 'assistant', content: [tool_use] }, { tool_calls: [{ id: 'a', cache_control }] }],
    [
      'none where there is one',
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: own }] },
      { content: [{ type: 'text', text: 'Hi', cache_control: own }] },
    ],
    [
      'none where the call has one',
      { role: 'assistant', content: [{ ...tool_use, cache_control: own }] },
      { tool_calls: [{ id: 'a', cache_control: own }] },
    ],
    ['no empty text', { role: 'assistant', content: [] }, { content: '' }],
  ])('puts a cache mark of the request on %s', (_, message, expected) => {
    const [last] = parsed({ cache_control, messages: [message] }).messages;
    expect(last).toMatchObject(expected);
    expect(JSON.stringify(last).split('cache_control').length).toBeLessThanOrEqual(2);
  });

  it.each([
    [{ type: 'any' }, 'required'],
    [{ type: 'none' }, 'none'],
    [
      { type: 'tool', name: 'roll' },
      { type: 'function', function: { name: 'roll' } },
    ],
  ])('has the tool choice %j', (tool_choice, expected) => {
    const tools = [{ name: 'roll', input_schema: {} }];
    expect(parsed({ tools, tool_choice }).parameters).toEqual({ tool_choice: expected });
  });

  it('names what it leaves out, by the names in the request, and not what changes nothing', () => {
    const result = { type: 'tool_result', tool_use_id: 'a', is_error: false };
    const content = [
      {
        ...result,
        content: [
          { type: 'text', text: 'a', x: 1 },
          { type: 'tool_reference', tool_name: 'roll', y: 1 },
        ],
      },
    ];
    const { unknown, tools } = parsed({
      ...{ top_k: 40, service_tier: 'auto', mcp_servers: [{ name: 'm' }], container: 'c' },
      system: [{ type: 'text', text: 'a', citations: [{}] }],
      metadata: { user_id: 'u', team: 't' },
      output_config: { task_budget: {} },
      thinking: { type: 'adaptive', display: 'omitted' },
      tools: [
        { name: 'roll', input_schema: {}, defer_loading: true },
        { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 1 },
      ],
      messages: [{ role: 'user', id: 'm1', content }],
    });
    expect(Object.keys(unknown).sort().join(' ')).toBe(
      'container mcp_servers messages.content.content.x messages.content.content.y messages.id metadata.team output_config.task_budget service_tier thinking.display tools.defer_loading tools.web_fetch_20250910 top_k',
    );
    expect(tools).toHaveLength(1);
    const thinking = { type: 'adaptive', display: 'summarized' };
    const messages = [{ role: 'user', content: [{ ...result, content: 'b' }] }];
    expect(parsed({ thinking, messages }).unknown).toEqual({});
  });

  it('keeps that a result is the failure of its call', () => {
    const resultOf = (is_error: unknown) =>
      parsed({
        messages: [
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'b', is_error }] },
        ],
      }).messages[0];
    expect(resultOf(true)).toEqual({ role: 'tool', tool_call_id: 'a', content: 'b', is_error: true });
    for (const absent of [false, null, undefined]) expect(resultOf(absent)).not.toHaveProperty('is_error');
  });
});

describe('the effort for thinking', () => {
  const effortOf = (model: string | undefined, fields: object) =>
    parsed({ model, max_tokens: 64_000, ...fields }).reasoning_effort;
  const enabled = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });

  it.each<[string, object, string | undefined, string | undefined]>([
    ['no thinking field', {}, undefined, undefined],
    ['adaptive thinking', { thinking: { type: 'adaptive' } }, undefined, undefined],
    ['disabled thinking', { thinking: { type: 'disabled' } }, 'low', 'none'],
    ['1024 tokens', enabled(1024), 'low', 'low'],
    ['10000 tokens', enabled(10_000), 'low', 'medium'],
    ['20000 tokens', enabled(20_000), 'high', 'high'],
    ['31999 tokens', enabled(31_999), 'max', 'max'],
    ['low effort', { output_config: { effort: 'low' } }, 'low', 'low'],
    ['medium effort', { output_config: { effort: 'medium' } }, 'high', 'medium'],
    ['xhigh effort', { output_config: { effort: 'xhigh' } }, 'high', 'high'],
    ['effort beside a budget', { ...enabled(1024), output_config: { effort: 'max' } }, 'max', 'max'],
  ])('is, for %s, the nearest level that the model has', (_, fields, ofNewer, ofOlder) => {
    expect([effortOf(newer, fields), effortOf(older, fields)]).toEqual([ofNewer, ofOlder]);
  });

  it('is named where the model has no levels', () => {
    expect(parsed({ model: plain, max_tokens: 2000, ...enabled(1024) })).toMatchObject({
      unknown: { 'thinking.budget_tokens': 1024 },
    });
    expect(parsed({ model: plain, thinking: { type: 'disabled' } }).unknown).toEqual({});
    expect(parsed({ model: plain, output_config: { effort: 'low' } }).unknown).toEqual({
      'output_config.effort': 'low',
    });
  });

  it('is fitted to another model that a stage has named, unless a stage has set it', () => {
    const find = (id: string | undefined) => models.find(model => model.id === id);
    const refitted = (from: string | undefined, to: string | undefined, fields: object, set?: string) => {
      const request = parsed({ model: from, max_tokens: 64_000, ...fields });
      if (set) request.reasoning_effort = set;
      dialect.renamed(request, find(to));
      return [request.reasoning_effort, Object.keys(request.unknown)];
    };
    expect(refitted(newer, older, enabled(10_000))).toEqual(['medium', []]);
    expect(refitted(newer, older, enabled(10_000), 'max')).toEqual(['max', []]);
    expect(refitted(plain, older, enabled(10_000))).toEqual(['medium', []]);
    expect(refitted(plain, older, { output_config: { effort: 'low' } })).toEqual(['low', []]);
    expect(refitted(older, plain, enabled(10_000))).toEqual([undefined, ['thinking.budget_tokens']]);
    expect(refitted(older, undefined, { output_config: { effort: 'low' } })).toEqual([
      undefined,
      ['output_config.effort'],
    ]);
    expect(refitted(newer, older, {})).toEqual([undefined, []]);
  });
});

describe('a request to count tokens', () => {
  const count = messagesCount.create({ enabled: true }, { models });

  it('is parsed as the request whose tokens it counts, without max_tokens', () => {
    const asked = {
      model: newer,
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ name: 'roll', input_schema: {} }],
      thinking: { type: 'enabled', budget_tokens: 2000 },
    };
    const { max_tokens, ...rest } = parsed({ ...asked, max_tokens: 4000 });
    expect(count.parse(asked)).toEqual(rest);
    expect(count.parse({ ...asked, max_tokens: 5 }).unknown).toEqual({ max_tokens: 5 });
  });
});
