import { describe, expect, it } from '@jest/globals';
import type { ChatRequest } from '../../../../src/gateway/exchange/canonical.ts';
import type { Target } from '../../../../src/gateway/upstream/adapter.ts';
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

describe('reasoning effort sent upstream (g)', () => {
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
  ] as const)('is encoded for %s at level %s', (name, reasoning_effort, expected) => {
    const { messages } = sampleRequest();
    expect(sent(name, { reasoning_effort })).toEqual({ model: 'inner', messages, ...expected });
  });

  it.each(openAiLike)('is absent for %s unless requested, and follows the configured effort map', name => {
    const plain = sent(name, {});
    expect(Object.keys(plain)).toEqual(['model', 'messages']);
    const effortMap = { low: { thinking_budget: 1024 }, none: {} };
    expect(sent(name, { reasoning_effort: 'low' }, { effortMap })).toEqual({
      ...plain,
      thinking_budget: 1024,
    });
    expect(sent(name, { reasoning_effort: 'none' }, { effortMap })).toEqual(plain);
  });

  it.each(templates)('sets the configured chat template switches for %s', name => {
    expect(
      sent(name, { reasoning_effort: 'none' }, {}, { thinking_switches: ['thinking', 'enable_thinking'] }),
    ).toMatchObject({ chat_template_kwargs: { thinking: false, enable_thinking: false } });
    expect(sent(name, { reasoning_effort: 'low' }, {}, { thinking_switches: [] })).not.toHaveProperty(
      'chat_template_kwargs',
    );
  });

  it('ignores names of Object.prototype when it looks up the effort map', () => {
    expect(sent('openai', { reasoning_effort: 'constructor' })).toMatchObject({
      reasoning_effort: 'constructor',
    });
  });
});

describe('stream usage options', () => {
  const usual = { include_usage: true };
  const asked: Record<(typeof openAiLike)[number], object> = {
    openai: { stream_options: usual },
    openrouter: { stream_options: usual },
    'llama-cpp': { stream_options: usual, timings_per_token: true },
    vllm: { stream_options: { ...usual, continuous_usage_stats: true } },
    sglang: { stream_options: { ...usual, continuous_usage_stats: true } },
  };

  it.each([undefined, {}, { include_usage: false }, { continuous_usage_stats: false }])(
    'are always requested upstream, whatever the client sends: %j',
    options => {
      const request = { stream: true, ...(options && { stream_options: options }) };
      for (const name of openAiLike) {
        const { model: _, messages: __, ...rest } = sent(name, request);
        expect(rest).toEqual({ stream: true, ...asked[name] });
      }
    },
  );

  it('are left out without a stream, where servers reject them', () => {
    for (const name of providerNames) {
      const body = sent(name, {});
      for (const field of ['stream', 'stream_options', 'timings_per_token'])
        expect(body).not.toHaveProperty(field);
    }
  });

  it('omit timings_per_token for llama.cpp when disabled', () => {
    expect(sent('llama-cpp', { stream: true }, {}, { timings_per_token: false })).not.toHaveProperty(
      'timings_per_token',
    );
  });
});

describe('reasoning kept in the text', () => {
  const tools = [{ type: 'function' as const, function: { name: 'roll' } }];

  it('is requested from servers that support it', () => {
    const request = { reasoning_split: false };
    expect(sent('sglang', request)).toMatchObject({ separate_reasoning: false });
    expect(sent('llama-cpp', request)).toMatchObject({ reasoning_format: 'none' });
    // vLLM would drop it, and the others have no such wish.
    for (const name of ['openai', 'vllm', 'openrouter'] as const)
      expect(Object.keys(sent(name, request))).toEqual(['model', 'messages']);
  });

  it.each([
    ['not requested', {}, {}],
    ['requested separately', { reasoning_split: true }, {}],
    ['tools must be found in the whole text', { reasoning_split: false, tools }, {}],
    ['the prompt holds the opening tag', { reasoning_split: false }, { startsInReasoning: true }],
  ])('is handled by sluice instead when %s', (_, request, target) => {
    expect(sent('sglang', request, target)).not.toHaveProperty('separate_reasoning');
    expect(sent('llama-cpp', request, target)).not.toHaveProperty('reasoning_format');
  });
});

describe('adapter options', () => {
  it.each([
    ['max_tokens', 'inner', {}],
    ['max_completion_tokens', 'o3-mini', {}],
    ['max_completion_tokens', 'gpt-5.1', {}],
    ['max_completion_tokens', 'openai/gpt-5', {}],
    ['max_tokens', 'gpt-4o', {}],
    ['max_tokens', 'olmo-2', {}],
    ['max_completion_tokens', 'inner', { max_tokens_field: 'max_completion_tokens' }],
    ['max_tokens', 'gpt-5.1', { max_tokens_field: 'max_tokens' }],
  ])('set the field of the token cap: %s for %s', (field, model, options) => {
    for (const capped of [{ max_tokens: 5 }, { parameters: { max_tokens: 5 } }]) {
      const body = sent('openai', capped, { model }, options);
      expect(Object.entries(body).filter(([name]) => name.includes('tokens'))).toEqual([[field, 5]]);
    }
    expect(Object.keys(sent('openai', {}, { model }, options))).toEqual(['model', 'messages']);
  });

  it('set the provider name on spans', () => {
    const names = providerNames.map(name => adapterOf(name).providerName);
    expect(names).toEqual(['openai', 'vllm', 'sglang', 'llama.cpp', 'openrouter', 'anthropic']);
    expect(adapterOf('openai', { provider_name: 'mistral_ai' }).providerName).toBe('mistral_ai');
  });

  it('set the referer, the title and the routing for OpenRouter', () => {
    const options = { referer: 'https://example.com', title: 'Example', routing: { only: ['deepinfra'] } };
    const { headers, encode } = adapterOf('openrouter', options);
    const { body } = encode(sampleRequest(), { model: 'inner', effortMap: {}, extraParameters: [] });
    expect(headers).toEqual({ 'http-referer': 'https://example.com', 'x-title': 'Example' });
    expect(body.provider).toEqual({ only: ['deepinfra'] });
  });

  it.each([true, false])('set cache_prompt for llama.cpp: %s', cache_prompt => {
    expect(sent('llama-cpp', {}, {}, { cache_prompt })).toMatchObject({ cache_prompt });
  });
});
