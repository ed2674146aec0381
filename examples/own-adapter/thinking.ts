import { type ChatRequest, effortFields, type Target } from 'sluice/plugin';

/** How a model is told to think: by a level, by a number of tokens, or it cannot. */
export type ThinkingStyle = 'level' | 'budget' | 'off';

/** The style of a model by its name. A model that cannot think refuses a request that speaks of it. */
export function styleOf(model: string): ThinkingStyle {
  if (/gemini-2\.5/.test(model)) return 'budget';
  return /gemini-(?:[3-9]|\d\d)|-latest$/.test(model) ? 'level' : 'off';
}

/** Levels by effort; `none` is the least that there is. */
const levels: Readonly<Record<string, string>> = {
  none: 'minimal',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
};

/** Tokens by effort. */
const budgets: Readonly<Record<string, number>> = { none: 0, minimal: 512, low: 1024, medium: 8192 };
const most_tokens = 24_576;
/** The least that a Pro model takes, which cannot stop thinking. */
const least_pro_tokens = 128;
/** Share of `max_tokens` for thoughts, which count as output. */
const thinking_share = 0.8;

/** Fields of `generationConfig` for a request's effort; an `effort_map` of the configuration has such fields, too. */
export function thinkingOf(request: ChatRequest, target: Target, style: ThinkingStyle) {
  const isPro = /-pro\b/.test(target.model);
  const configOf = style === 'level' ? levelOf : budgetOf;
  const words = (effort: string) => ({
    thinkingConfig: { ...configOf(effort, isPro, request.max_tokens), includeThoughts: effort !== 'none' },
  });
  const isMapped = Object.hasOwn(target.effortMap, request.reasoning_effort ?? '');
  if (style === 'off' && !isMapped) return { fields: {}, isIgnored: request.reasoning_effort !== undefined };
  if (request.reasoning_effort === undefined)
    return { fields: { thinkingConfig: { includeThoughts: true } }, isIgnored: false };
  return { fields: effortFields(request, target, words), isIgnored: false };
}

function levelOf(effort: string, isPro: boolean): object {
  const level = levels[effort] ?? 'high';
  return { thinkingLevel: isPro && level === 'minimal' ? 'low' : level };
}

function budgetOf(effort: string, isPro: boolean, max_tokens = Number.POSITIVE_INFINITY): object {
  const room = Math.floor(max_tokens * thinking_share);
  const asked = Math.min(budgets[effort] ?? most_tokens, room);
  return { thinkingBudget: isPro ? Math.max(asked, least_pro_tokens) : asked };
}
