import { describe, expect, it } from '@jest/globals';
import type { ChatRequest } from '../../../../../src/canonical.ts';
import type { Model } from '../../../../../src/catalog/catalog.ts';
import { defaultModels } from '../../../../../src/catalog/default-models.ts';
import { modelSchema } from '../../../../../src/catalog/model-schema.ts';
import { messages, messagesCount } from '../../../../../src/dialects/messages/index.ts';

const models = defaultModels('x').map(
  entry => ({ ...modelSchema.parse(entry), extra_parameters: [] }) as Model,
);
const dialect = messages.create({ enabled: true }, { models });
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

  it.each<[string, unknown, unknown]>([
    ['a string', 'Be brief.', 'Be brief.'],
    ['one block', [{ type: 'text', text: 'Be brief.' }], 'Be brief.'],
    [
      'a block with a cache mark',
      [{ type: 'text', text: 'Be brief.', cache_control }],
      [{ type: 'text', text: 'Be brief.', cache_control }],
    ],
  ])('begins with the system prompt given as %s', (_, system, content) => {
    expect(parsed({ system }).messages[0]).toEqual({ role: 'system', content });
  });

  it('has no system message for an empty prompt', () => {
    for (const system of ['', []]) expect(parsed({ system }).messages).toHaveLength(1);
  });

  it('has images as data URLs or addresses', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' };
    expect(
      said(
        { type: 'text', text: 'Look' },
        { type: 'image', source, cache_control },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' }, cache_control },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ]);
  });

  it('has a tool message for each result, before what the user says beside them', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    expect(
      said(
        { type: 'tool_result', tool_use_id: 'a', content: 'Seventeen' },
        { type: 'text', text: 'And now?' },
        { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'See' }, image] },
        { type: 'tool_result', tool_use_id: 'c' },
        { type: 'tool_result', tool_use_id: 'e', content: [{ type: 'tool_reference', tool_name: 'roll' }] },
        { type: 'tool_result', tool_use_id: 'd', content: 'Three', cache_control },
      ),
    ).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'Seventeen' },
      {
        role: 'tool',
        tool_call_id: 'b',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: '' },
      {
        role: 'tool',
        tool_call_id: 'e',
        content: [{ type: 'text', text: '[tool reference: roll]', tool_reference: 'roll' }],
      },
      { role: 'tool', tool_call_id: 'd', content: [{ type: 'text', text: 'Three', cache_control }] },
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

  it('puts a cache mark of the request on the last part of the prompt', () => {
    expect(parsed({ cache_control }).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control }] },
    ]);
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

  it('names what it leaves out, by the names in the request', () => {
    const { unknown, tools } = parsed({
      top_k: 40,
      service_tier: 'auto',
      mcp_servers: [{ name: 'm' }],
      container: 'c',
      system: [{ type: 'text', text: 'a', citations: [{}] }],
      metadata: { user_id: 'u', team: 't' },
      output_config: { task_budget: {} },
      thinking: { type: 'adaptive', display: 'omitted' },
      tools: [
        { name: 'roll', input_schema: {}, defer_loading: true },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 1 },
      ],
      messages: [
        {
          role: 'user',
          id: 'm1',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              is_error: true,
              content: [
                { type: 'text', text: 'a', x: 1 },
                { type: 'tool_reference', tool_name: 'roll', y: 1 },
              ],
            },
          ],
        },
      ],
    });
    expect(Object.keys(unknown).sort()).toEqual([
      'container',
      'mcp_servers',
      'messages.content.content.x',
      'messages.content.content.y',
      'messages.id',
      'metadata.team',
      'output_config.task_budget',
      'service_tier',
      'system.citations',
      'thinking.display',
      'tools.defer_loading',
      'tools.web_search_20250305',
      'top_k',
    ]);
    expect(tools).toHaveLength(1);
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

  it('does not name what changes nothing', () => {
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'b', is_error: false };
    const thinking = { type: 'adaptive', display: 'summarized' };
    expect(parsed({ thinking, messages: [{ role: 'user', content: [result] }] }).unknown).toEqual({});
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
