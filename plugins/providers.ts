import type { ProviderDefinition } from '../src/plugin.ts';
import { anthropic } from './providers/anthropic/index.ts';
import { llamaCpp } from './providers/llama-cpp/index.ts';
import { openai } from './providers/openai/index.ts';
import { openrouter } from './providers/openrouter/index.ts';
import { presetProviders } from './providers/presets/index.ts';
import { sglang } from './providers/sglang/index.ts';
import { vllm } from './providers/vllm/index.ts';

/** The adapters by the name that `providers.*.adapter` gives. */
export const builtInProviders: readonly ProviderDefinition[] = [
  openai,
  vllm,
  sglang,
  llamaCpp,
  openrouter,
  anthropic,
  ...presetProviders,
] as readonly ProviderDefinition[];
