import { describe, expect, it } from '@jest/globals';
import { openai } from '../../../../plugins/providers/openai/index.ts';
import { vllm } from '../../../../plugins/providers/vllm/index.ts';
import type { ChatRequest } from '../../../../src/canonical.ts';
import type { Target } from '../../../../src/upstream/adapter.ts';
import { sampleRequest } from '../../sample-exchange.ts';

const adapters = {
  openai: openai.create(openai.schema.parse({})),
  vllm: vllm.create(vllm.schema.parse({})),
  newer: openai.create(
    openai.schema.parse({ max_tokens_field: 'max_completion_tokens', provider_name: 'mistral_ai' }),
  ),
};

function sent(name: keyof typeof adapters, request: Partial<ChatRequest>, target: Partial<Target> = {}) {
  const whole: Target = { model: 'inner', effortMap: {}, extraParameters: [], ...target };
  const { path, body } = adapters[name].encode(sampleRequest(request), whole);
  expect(path).toBe('/chat/completions');
  return body;
}

describe('an effort in the words of the upstream (g)', () => {
  it.each([
    ['openai', 'none', { reasoning_effort: 'none' }],
    ['openai', 'max', { reasoning_effort: 'max' }],
    ['vllm', 'none', { reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: false } }],
    ['vllm', 'low', { reasoning_effort: 'low', chat_template_kwargs: { enable_thinking: true } }],
    ['vllm', 'max', { reasoning_effort: 'max', chat_template_kwargs: { enable_thinking: true } }],
  ] as const)('%s, %s', (name, reasoning_effort, expected) => {
    const { messages } = sampleRequest();
    expect(sent(name, { reasoning_effort })).toEqual({ model: 'inner', messages, ...expected });
  });

  it.each(['openai', 'vllm'] as const)(
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
});

describe('usage of a stream is asked for, whatever the client asked (d7)', () => {
  it.each([undefined, {}, { include_usage: false }, { continuous_usage_stats: false }])('%j', options => {
    const request = { stream: true, ...(options && { stream_options: options }) };
    expect(sent('openai', request)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(sent('vllm', request)).toMatchObject({
      stream: true,
      stream_options: { include_usage: true, continuous_usage_stats: true },
    });
  });

  it('but not without a stream, where it would be refused', () => {
    for (const name of ['openai', 'vllm'] as const) {
      expect(sent(name, {})).not.toHaveProperty('stream_options');
      expect(sent(name, {})).not.toHaveProperty('stream');
    }
  });
});

describe('the options of an adapter', () => {
  it('name the cap as the upstream does', () => {
    expect(sent('newer', { max_tokens: 5 })).toMatchObject({ max_completion_tokens: 5 });
    expect(sent('newer', { max_tokens: 5 })).not.toHaveProperty('max_tokens');
    expect(sent('newer', {})).not.toHaveProperty('max_completion_tokens');
    expect(sent('openai', { max_tokens: 5 })).toMatchObject({ max_tokens: 5 });
  });

  it('name the provider on spans', () => {
    expect(Object.values(adapters).map(({ providerName }) => providerName)).toEqual([
      'openai',
      'vllm',
      'mistral_ai',
    ]);
  });
});
