import type { ModelConfig } from '../common/options.ts';

const newest = { supported: true, levels: ['low', 'high', 'max'], default: 'high' };
const earlier = { supported: true, levels: ['none', 'low', 'medium', 'high', 'max'], default: 'medium' };
const unsupported = { supported: false, levels: [], default: null };

const large = { prompt: '0.000003', completion: '0.000006', input_cache_read: '0.00000075' };
const mini = { prompt: '0.0000007', completion: '0.0000014', input_cache_read: '0.00000018' };
const small = { prompt: '0.0000008', completion: '0.0000016' };

type Row = readonly [
  name: string,
  model: string,
  date: string,
  context_length: number,
  pricing: ModelConfig['pricing'],
  reasoning_effort: ModelConfig['reasoning_effort'],
];

const rows: readonly Row[] = [
  ['Aion 3.5', 'aion-3.5', '2026-09-23', 262_144, large, newest],
  ['Aion 3.5 Mini', 'aion-3.5-mini', '2026-09-23', 262_144, mini, newest],
  ['Aion 3.0', 'aion-3.0', '2026-05-05', 131_072, large, earlier],
  ['Aion 3.0 Mini', 'aion-3.0-mini', '2026-05-14', 131_072, mini, earlier],
  ['Aion 2.0', 'aion-2.0', '2025-12-21', 131_072, { ...small, input_cache_read: '0.0000002' }, earlier],
  ['Aion-RP 1.0 (8B)', 'aion-rp-llama-3.1-8b', '2024-11-30', 32_768, small, unsupported],
];

/** The example catalog, served by `provider` under the names that follow the vendor's. */
export function defaultModels(provider: string) {
  return rows.map(([name, model, date, context_length, pricing, reasoning_effort]) => ({
    id: `aion-labs/${model}`,
    name: `AionLabs: ${name}`,
    description: reasoning_effort.supported
      ? 'A model that reasons before it answers.'
      : 'A small model for roleplay.',
    date,
    context_length,
    pricing,
    max_completion_tokens: 32_768,
    is_moderated: false,
    architecture: { modality: 'text->text' },
    reasoning: reasoning_effort.supported,
    tool_calls: reasoning_effort.supported,
    reasoning_effort,
    upstreams: [{ provider, model }] as unknown as ModelConfig['upstreams'],
  }));
}
