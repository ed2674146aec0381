/** Traits of a family of models, known from its name alone. */
export interface ModelFamily {
  readonly pattern: RegExp;
  /** The value of vLLM's `--reasoning-parser`; SGLang has the same names for most. */
  readonly parser: string;
  /** Its chat template opens `<think>` in the prompt, so that the text begins inside reasoning (protocol f3). */
  readonly startsInReasoning: boolean;
  /** Reasoning can be switched off in the chat template. */
  readonly canBeOff: boolean;
}

/** Families with a reasoning parser in vLLM, by its documentation of reasoning outputs. First match counts. */
const families: readonly ModelFamily[] = [
  { pattern: /deepseek-?r1|qwq/i, parser: 'deepseek_r1', startsInReasoning: true, canBeOff: false },
  { pattern: /deepseek-?v3\.[1-9]/i, parser: 'deepseek_v3', startsInReasoning: false, canBeOff: true },
  { pattern: /qwen-?3[^/]*thinking/i, parser: 'qwen3', startsInReasoning: true, canBeOff: false },
  {
    pattern: /qwen-?3(?![^/]*(?:instruct|coder))/i,
    parser: 'qwen3',
    startsInReasoning: false,
    canBeOff: true,
  },
  { pattern: /glm-?4\.[5-9]/i, parser: 'glm45', startsInReasoning: false, canBeOff: true },
  { pattern: /gpt-?oss/i, parser: 'openai_gptoss', startsInReasoning: false, canBeOff: false },
  { pattern: /minimax-?m[2-9]/i, parser: 'minimax_m2', startsInReasoning: true, canBeOff: false },
  { pattern: /kimi-?k2[^/]*thinking/i, parser: 'kimi_k2', startsInReasoning: false, canBeOff: false },
  { pattern: /granite-?3\.[2-9]/i, parser: 'granite', startsInReasoning: false, canBeOff: true },
  { pattern: /hunyuan[^/]*a13b/i, parser: 'hunyuan_a13b', startsInReasoning: false, canBeOff: true },
  {
    pattern: /ernie-?4\.5[^/]*(?:thinking|vl)/i,
    parser: 'ernie45',
    startsInReasoning: false,
    canBeOff: false,
  },
  { pattern: /gemma-?4/i, parser: 'gemma4', startsInReasoning: false, canBeOff: true },
];

/** The reasoning model family that a model's name belongs to, if any. */
export const familyOf = (id: string): ModelFamily | undefined =>
  families.find(({ pattern }) => pattern.test(id));
