/** The adapters of `serverKinds`, in their order. Written out: every command lists its options, and the kinds load the adapters. */
export const adapterNames: readonly string[] = [
  'vllm',
  'sglang',
  'llama-cpp',
  'openrouter',
  'openai',
  'anthropic',
  'gemini',
  'mistral',
  'deepseek',
  'groq',
  'together',
  'fireworks',
  'xai',
  'cerebras',
  'ollama',
  'lm-studio',
];

/** Whether `text` can be the name of an environment variable. */
export const isVariable = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text);
