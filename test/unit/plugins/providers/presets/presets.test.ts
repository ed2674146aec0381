import { describe, expect, it } from '@jest/globals';
import { presetProviders } from '../../../../../plugins/providers/presets/index.ts';
import { presets } from '../../../../../plugins/providers/presets/table.ts';
import { loadConfig } from '../../../../../src/config/load.ts';
import type { ChatRequest, Message } from '../../../../../src/gateway/exchange/canonical.ts';
import type { Adapter } from '../../../../../src/gateway/upstream/adapter.ts';
import { fitted } from '../../../../../src/gateway/upstream/attempt/fit-request.ts';
import { openAiParameters } from '../../../../../src/gateway/upstream/openai/openai-adapter.ts';
import { adapterOf } from '../../../../support/provider-fixtures.ts';
import { sampleRequest } from '../../../sample-exchange.ts';
import { mistakesOf, sampleConfig } from '../../../src/config/sample-config.ts';

const names = presets.map(({ name }) => name);
const target = { model: 'm', effortMap: {}, extraParameters: [] };

/** What `name` is sent of a request, and what is named as left out. */
function sent(name: string, changes: Partial<ChatRequest>) {
  const adapter: Adapter = adapterOf(name as never);
  const { request, ignored } = fitted(sampleRequest(changes), {
    parameters: adapter.parameters,
    drop: [],
    extra: [],
    messages: { fields: adapter.messageFields!, send_reasoning: 'tool_turns' },
  });
  const encoded = adapter.encode(request, target);
  return { body: encoded.body, ignored: [...ignored, ...(encoded.ignored ?? [])] };
}

const given: Readonly<Record<string, unknown>> = { response_format: { type: 'text' }, tool_choice: 'auto' };
const everything = Object.fromEntries(Object.keys(openAiParameters).map(name => [name, given[name] ?? 1]));
const turn: Message[] = [
  { role: 'user', content: 'Roll.' },
  {
    role: 'assistant',
    content: null,
    reasoning: 'A die?',
    tool_calls: [
      {
        id: 'call_1',
        type: 'function',
        function: { name: 'roll', arguments: '{}' },
        extra_content: { google: { thought_signature: 'CsQ=' } },
      },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: '6' },
];

describe.each(names)('the preset %s', name => {
  const preset = presets.find(one => one.name === name)!;

  it('sends the parameters that it takes, and names all others', () => {
    const { body, ignored } = sent(name, { parameters: everything });
    const others = Object.keys(everything).filter(one => !(preset.takes as string[]).includes(one));
    expect(ignored.toSorted()).toEqual(others.toSorted());
    for (const other of others) expect(body).not.toHaveProperty(other);
    const own = new Map([
      ['mistral seed', 'random_seed'],
      ['ollama tool_choice', 'model'],
    ]);
    for (const taken of preset.takes) expect(body).toHaveProperty(own.get(`${name} ${taken}`) ?? taken);
  });

  it('sends reasoning back under its own name, if it takes any, and signatures where they are known', () => {
    const { body, ignored } = sent(name, { messages: turn });
    expect(ignored.includes('messages.reasoning')).toBe(!preset.reasoningName);
    const [, said] = body.messages as Record<string, unknown>[];
    const text = JSON.stringify(said);
    expect(text.includes('A die?')).toBe(!!preset.reasoningName);
    if (preset.reasoningName && name !== 'mistral') expect(said).toHaveProperty(preset.reasoningName);
    expect(text.includes('thought_signature')).toBe(!!preset.signsCalls);
  });

  it('says where its facts are from and where its API is', () => {
    expect(preset.source).toMatch(/^https:\/\//);
    expect([preset.base_url, preset.address].filter(Boolean)).toHaveLength(1);
  });

  it.each([true, false])('can be streamed: %s', stream => {
    const { body } = sent(name, { stream });
    const asks = stream && name !== 'mistral';
    expect(body.stream_options).toEqual(asks ? { include_usage: true } : undefined);
  });
});

it.each(presets.filter(({ isSingle }) => isSingle).map(({ name }) => name))(
  '%s refuses more than one choice',
  name => {
    expect(() => sent(name, { n: 2 })).toThrow('n: must be 1');
    expect(sent(name, { n: 1 }).body.model).toBe('m');
  },
);

describe('what is special', () => {
  it('is the key at Azure, unless it is a token', () => {
    const { credential } = adapterOf('azure' as never);
    expect(credential!('0123abcd')).toEqual({ 'api-key': '0123abcd' });
    expect(credential!('eyJhbGciOi')).toEqual({ authorization: 'Bearer eyJhbGciOi' });
  });

  it('is how DeepSeek is made to think, and which formats it and LM Studio lack', () => {
    expect(sent('deepseek', { reasoning_effort: 'none' }).body).toMatchObject({
      thinking: { type: 'disabled' },
    });
    const { body } = sent('deepseek', { reasoning_effort: 'high' });
    expect(body).toMatchObject({ thinking: { type: 'enabled' }, reasoning_effort: 'high' });
    const format = { type: 'json_schema', json_schema: { name: 'a', schema: {} } };
    expect(() => sent('deepseek', { parameters: { response_format: format } })).toThrow(
      'must not be of type json_schema',
    );
    const object = { type: 'json_object' };
    expect(() => sent('lm-studio', { parameters: { response_format: object } })).toThrow('json_object');
    expect(sent('groq', { parameters: { response_format: format } }).body.response_format).toEqual(format);
  });

  it('is the form of ids at Mistral, the same for a call and its result, and reasoning in the content', () => {
    const [, call, result] = sent('mistral', { messages: turn }).body.messages as {
      tool_calls: { id: string }[];
      tool_call_id: string;
      content: unknown;
    }[];
    expect(call!.tool_calls[0]!.id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(result!.tool_call_id).toBe(call!.tool_calls[0]!.id);
    expect(call!.content).toEqual([
      { type: 'thinking', thinking: [{ type: 'text', text: 'A die?' }], closed: true },
    ]);
    const own = [{ role: 'tool' as const, tool_call_id: 'D681PevKs', content: '6' }];
    expect(sent('mistral', { messages: own }).body.messages).toEqual(own);
  });

  it('is that no tool can be forced at Ollama', () => {
    const tools = [{ type: 'function' as const, function: { name: 'roll' } }];
    const chosen = (tool_choice: string) => sent('ollama', { tools, parameters: { tool_choice } }).body;
    expect(chosen('auto')).toMatchObject({ tools });
    expect(chosen('none')).not.toHaveProperty('tools');
    expect(() => chosen('required')).toThrow('tool_choice: must be auto or none');
    expect(chosen('auto')).not.toHaveProperty('tool_choice');
  });

  it('is that stop sequences are not sent to xAI', () => {
    expect(sent('xai', { stop: ['.'] })).toMatchObject({
      ignored: ['stop'],
      body: expect.not.objectContaining({ stop: ['.'] }),
    });
  });
});

describe('the configuration', () => {
  const of = (provider: object) => sampleConfig({ providers: { local: provider } });

  it('needs no address for an API that all reach at the same one', async () => {
    const { providers } = await loadConfig(of({ adapter: 'groq' }), {});
    expect(providers[0]!.config.base_url).toBe('https://api.groq.com/openai/v1');
    const own = await loadConfig(of({ adapter: 'groq', base_url: 'http://127.0.0.1:1/v1' }), {});
    expect(own.providers[0]!.config.base_url).toBe('http://127.0.0.1:1/v1');
  });

  it('needs one for all others', async () => {
    expect((await mistakesOf(of({ adapter: 'azure' }))).join()).toContain(
      'providers.local.base_url: must be an http',
    );
  });

  it('knows every preset', () => {
    expect(presetProviders.map(({ name }) => name)).toEqual(names);
  });
});
