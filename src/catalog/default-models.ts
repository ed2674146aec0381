import type { ModelConfig } from './model-schema.ts';

type Served = Pick<ModelConfig, 'upstreams'>;

const newest = { supported: true, levels: ['low', 'high', 'max'], default: 'high' };
const earlier = { supported: true, levels: ['none', 'low', 'medium', 'high', 'max'], default: 'medium' };
const unsupported = { supported: false, levels: [], default: null };

const large = { prompt: '0.000003', completion: '0.000006', input_cache_read: '0.00000075' };
const mini = { prompt: '0.0000007', completion: '0.0000014', input_cache_read: '0.00000018' };
const small = { prompt: '0.0000008', completion: '0.0000016' };

const models = [
  {
    name: 'Aion 3.5',
    model: 'aion-3.5',
    date: '2026-09-23',
    context_length: 262_144,
    pricing: large,
    reasoning_effort: newest,
  },
  {
    name: 'Aion 3.5 Mini',
    model: 'aion-3.5-mini',
    date: '2026-09-23',
    context_length: 262_144,
    pricing: mini,
    reasoning_effort: newest,
  },
  {
    name: 'Aion 3.0',
    model: 'aion-3.0',
    date: '2026-05-05',
    context_length: 131_072,
    pricing: large,
    reasoning_effort: earlier,
  },
  {
    name: 'Aion 3.0 Mini',
    model: 'aion-3.0-mini',
    date: '2026-05-14',
    context_length: 131_072,
    pricing: mini,
    reasoning_effort: earlier,
  },
  {
    name: 'Aion 2.0',
    model: 'aion-2.0',
    date: '2025-12-21',
    context_length: 131_072,
    pricing: { ...small, input_cache_read: '0.0000002' },
    reasoning_effort: earlier,
  },
  {
    name: 'Aion-RP 1.0 (8B)',
    model: 'aion-rp-llama-3.1-8b',
    date: '2024-11-30',
    context_length: 32_768,
    pricing: small,
    reasoning_effort: unsupported,
  },
];

/** The example catalog (protocol 1), served by `provider` under the names that follow the vendor's. */
export function defaultModels(provider: string) {
  return models.map(({ name, model, reasoning_effort, ...rest }) => ({
    id: `aion-labs/${model}`,
    name: `AionLabs: ${name}`,
    description: reasoning_effort.supported
      ? 'A model that reasons before it answers.'
      : 'A small model for roleplay.',
    ...rest,
    max_completion_tokens: 32_768,
    is_moderated: false,
    architecture: { modality: 'text->text' },
    reasoning: reasoning_effort.supported,
    tool_calls: reasoning_effort.supported,
    reasoning_effort,
    upstreams: [{ provider, model }] as unknown as Served['upstreams'],
  }));
}
