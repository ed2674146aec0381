/** Traits of a family of models, known from its name alone. */
export interface ModelFamily {
  readonly pattern: RegExp;
  /** The value of vLLM's `--reasoning-parser`; SGLang has the same names for most. */
  readonly parser: string;
  /** Its chat template opens `<think>` in the prompt, so that the text begins inside reasoning. */
  readonly startsInReasoning?: true;
  /** Reasoning can be switched off in the chat template. */
  readonly canBeOff?: true;
}

/** Families with a reasoning parser in vLLM, by its documentation of reasoning outputs. First match counts. */
const families: readonly ModelFamily[] = [
  { pattern: /deepseek-?r1|qwq/i, parser: 'deepseek_r1', startsInReasoning: true },
  { pattern: /deepseek-?v3\.[1-9]/i, parser: 'deepseek_v3', canBeOff: true },
  { pattern: /qwen-?3[^/]*thinking/i, parser: 'qwen3', startsInReasoning: true },
  { pattern: /qwen-?3(?![^/]*(?:instruct|coder))/i, parser: 'qwen3', canBeOff: true },
  { pattern: /glm-?4\.[5-9]/i, parser: 'glm45', canBeOff: true },
  { pattern: /gpt-?oss/i, parser: 'openai_gptoss' },
  { pattern: /minimax-?m[2-9]/i, parser: 'minimax_m2', startsInReasoning: true },
  { pattern: /kimi-?k2[^/]*thinking/i, parser: 'kimi_k2' },
  { pattern: /granite-?3\.[2-9]/i, parser: 'granite', canBeOff: true },
  { pattern: /hunyuan[^/]*a13b/i, parser: 'hunyuan_a13b', canBeOff: true },
  { pattern: /ernie-?4\.5[^/]*(?:thinking|vl)/i, parser: 'ernie45' },
  { pattern: /gemma-?4/i, parser: 'gemma4', canBeOff: true },
];

/** The reasoning model family that a model's name belongs to, if any. */
export const familyOf = (id: string): ModelFamily | undefined =>
  families.find(({ pattern }) => pattern.test(id));
