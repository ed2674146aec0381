import { describe, expect, it } from '@jest/globals';
import type { ChatRequest } from '../../../../src/canonical.ts';
import type { Target } from '../../../../src/upstream/adapter.ts';
import { adapterOf, type ProviderName, providerNames } from '../../../support/provider-fixtures.ts';
import { sampleRequest } from '../../sample-exchange.ts';

function sent(
  name: ProviderName,
  request: Partial<ChatRequest>,
  target: Partial<Target> = {},
  options: object = {},
): Record<string, unknown> {
  const whole: Target = { model: 'inner', effortMap: {}, extraParameters: [], ...target };
  const { path, body } = adapterOf(name, options).encode(sampleRequest(request), whole);
  expect(path).toBe(name === 'anthropic' ? '/messages' : '/chat/completions');
  return body;
}

const openAiLike = ['openai', 'vllm', 'sglang', 'llama-cpp', 'openrouter'] as const;
const templates = ['vllm', 'sglang', 'llama-cpp'] as const;

describe('an effort in the words of the upstream (g)', () => {
  it.each([
    ['openai', 'none', { reasoning_effort: 'none' }],
    ['openai', 'max', { reasoning_effort: 'max' }],
    ['openrouter', 'none', { reasoning: { enabled: false } }],
    ['openrouter', 'low', { reasoning: { effort: 'low' } }],
    ['openrouter', 'high', { reasoning: { effort: 'high' } }],
    ['openrouter', 'max', { reasoning: { effort: 'xhigh' } }],
    ...templates.flatMap(
      name =>
        [
          [name, 'none', { reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: false } }],
          [name, 'low', { reasoning_effort: 'low', chat_template_kwargs: { enable_thinking: true } }],
          [name, 'max', { reasoning_effort: 'max', chat_template_kwargs: { enable_thinking: true } }],
        ] as const,
    ),
  ] as const)('%s, %s', (name, reasoning_effort, expected) => {
    const { messages } = sampleRequest();
    expect(sent(name, { reasoning_effort })).toEqual({ model: 'inner', messages, ...expected });
  });

  it.each(openAiLike)(
    '%s: not at all where there is none, and as the configuration says where it does',
    name => {
      const plain = sent(name, {});
      expect(Object.keys(plain)).toEqual(['model', 'messages']);
      const effortMap = { low: { thinking_budget: 1024 }, none: {} };
      expect(sent(name, { reasoning_effort: 'low' }, { effortMap })).toEqual({
        ...plain,
        thinking_budget: 1024,
      });
      expect(sent(name, { reasoning_effort: 'none' }, { effortMap })).toEqual(plain);
    },
  );

  it.each(templates)('%s: switches of the chat template are the configuration’s', name => {
    expect(
      sent(name, { reasoning_effort: 'none' }, {}, { thinking_switches: ['thinking', 'enable_thinking'] }),
    ).toMatchObject({ chat_template_kwargs: { thinking: false, enable_thinking: false } });
    expect(sent(name, { reasoning_effort: 'low' }, {}, { thinking_switches: [] })).not.toHaveProperty(
      'chat_template_kwargs',
    );
  });

  it('a level that nobody could have configured is no key of the effort map', () => {
    expect(sent('openai', { reasoning_effort: 'constructor' })).toMatchObject({
      reasoning_effort: 'constructor',
    });
  });
});

describe('usage of a stream is asked for, whatever the client asked (d7)', () => {
  const usual = { include_usage: true };
  const asked: Record<(typeof openAiLike)[number], object> = {
    openai: { stream_options: usual },
    openrouter: { stream_options: usual },
    'llama-cpp': { stream_options: usual, timings_per_token: true },
    vllm: { stream_options: { ...usual, continuous_usage_stats: true } },
    sglang: { stream_options: { ...usual, continuous_usage_stats: true } },
  };

  it.each([undefined, {}, { include_usage: false }, { continuous_usage_stats: false }])('%j', options => {
    const request = { stream: true, ...(options && { stream_options: options }) };
    for (const name of openAiLike) {
      const { model: _, messages: __, ...rest } = sent(name, request);
      expect(rest).toEqual({ stream: true, ...asked[name] });
    }
  });

  it('but not without a stream, where it would be refused', () => {
    for (const name of providerNames) {
      const body = sent(name, {});
      for (const field of ['stream', 'stream_options', 'timings_per_token'])
        expect(body).not.toHaveProperty(field);
    }
  });

  it('llama.cpp can be spared its counts', () => {
    expect(sent('llama-cpp', { stream: true }, {}, { timings_per_token: false })).not.toHaveProperty(
      'timings_per_token',
    );
  });
});

describe('reasoning that the client wants in the text (f12)', () => {
  const tools = [{ type: 'function' as const, function: { name: 'roll' } }];

  it('is asked of servers that can leave it there', () => {
    const request = { reasoning_split: false };
    expect(sent('sglang', request)).toMatchObject({ separate_reasoning: false });
    expect(sent('llama-cpp', request)).toMatchObject({ reasoning_format: 'none' });
    // vLLM would drop it, and the others have no such wish.
    for (const name of ['openai', 'vllm', 'openrouter'] as const)
      expect(Object.keys(sent(name, request))).toEqual(['model', 'messages']);
  });

  it.each([
    ['not asked', {}, {}],
    ['asked apart', { reasoning_split: true }, {}],
    ['with tools, which are looked for in the whole text', { reasoning_split: false, tools }, {}],
    ['with the opening tag in the prompt', { reasoning_split: false }, { startsInReasoning: true }],
  ])('is left to us: %s', (_, request, target) => {
    expect(sent('sglang', request, target)).not.toHaveProperty('separate_reasoning');
    expect(sent('llama-cpp', request, target)).not.toHaveProperty('reasoning_format');
  });
});

describe('the options of an adapter', () => {
  it.each([
    ['max_tokens', 'inner', {}],
    ['max_completion_tokens', 'o3-mini', {}],
    ['max_completion_tokens', 'gpt-5.1', {}],
    ['max_completion_tokens', 'openai/gpt-5', {}],
    ['max_tokens', 'gpt-4o', {}],
    ['max_tokens', 'olmo-2', {}],
    ['max_completion_tokens', 'inner', { max_tokens_field: 'max_completion_tokens' }],
    ['max_tokens', 'gpt-5.1', { max_tokens_field: 'max_tokens' }],
  ])('name the cap as the upstream does: %s for %s', (field, model, options) => {
    const body = sent('openai', { max_tokens: 5 }, { model }, options);
    expect(Object.entries(body).filter(([name]) => name.includes('tokens'))).toEqual([[field, 5]]);
    expect(Object.keys(sent('openai', {}, { model }, options))).toEqual(['model', 'messages']);
  });

  it('name the provider on spans', () => {
    const names = providerNames.map(name => adapterOf(name).providerName);
    expect(names).toEqual(['openai', 'vllm', 'sglang', 'llama.cpp', 'openrouter', 'anthropic']);
    expect(adapterOf('openai', { provider_name: 'mistral_ai' }).providerName).toBe('mistral_ai');
  });

  it('say who asks OpenRouter, and whom it may ask', () => {
    const options = { referer: 'https://example.com', title: 'Example', routing: { only: ['deepinfra'] } };
    const { headers, encode } = adapterOf('openrouter', options);
    const { body } = encode(sampleRequest(), { model: 'inner', effortMap: {}, extraParameters: [] });
    expect(headers).toEqual({ 'http-referer': 'https://example.com', 'x-title': 'Example' });
    expect(body.provider).toEqual({ only: ['deepinfra'] });
  });

  it.each([true, false])('keep llama.cpp’s prompt cache: %s', cache_prompt => {
    expect(sent('llama-cpp', {}, {}, { cache_prompt })).toMatchObject({ cache_prompt });
  });
});
