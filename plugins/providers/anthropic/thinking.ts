import { type ChatRequest, effortFields, isObject, type Json, type Target } from '../../../src/plugin.ts';

/** Differences between the models of the Messages API. */
export interface Traits {
  /** `budget`: thinking has a limit of tokens. `adaptive`: the model decides, guided by an effort. */
  readonly thinking: 'budget' | 'adaptive';
  /** True if a temperature other than 1 is accepted. */
  readonly sampling: boolean;
}

/** Claude 3.7, 4, 4.1 and 4.5, under the names that Anthropic, Bedrock and Vertex give them. */
const budgetOnly = /claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[015])?(?=$|@|-v\d|-latest|-\d{8}))/;
const claude46 = /claude-(?:opus|sonnet|haiku)-4-6/;

/** Traits of a model by its name. Servers that use this API for other models support budgets. */
export function traitsOf(model: string, thinking: Traits['thinking'] | 'auto'): Traits {
  const isNewer = model.includes('claude-') && !/claude-3-/.test(model) && !budgetOnly.test(model);
  return {
    thinking: thinking === 'auto' ? (isNewer ? 'adaptive' : 'budget') : thinking,
    sampling: !isNewer || claude46.test(model),
  };
}

/** The smallest budget that the API accepts. */
const least_budget_tokens = 1024;
/** Share of the cap for thinking; the rest is for the answer. */
const thinking_share = 0.8;

/** Budgets by effort level. The two levels between the catalog's usual ones use their neighbours'. */
const budgets: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 32_000,
  max: 32_000,
};

/** Fields of an effort level, for models that think in this style. */
function fieldsOf(effort: string, style: Traits['thinking']): Json {
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  if (style === 'budget')
    return { thinking: { type: 'enabled', budget_tokens: budgets[effort] ?? budgets.medium } };
  return {
    // Newer models omit their thinking from the reply unless a summary is requested.
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: effort === 'minimal' ? 'low' : effort },
  };
}

/** Reasons, other than its cap, why a request cannot have a thinking budget. */
export interface Obstacles {
  /** True if a tool is forced. */
  readonly isForced: boolean;
  /** True if its turn began with a tool call whose thinking is no longer known here. */
  readonly isForgotten: boolean;
}

/** Fields for a request's effort, fitted to its cap; `isDropped` if it cannot think as requested. */
export function thinkingOf(
  request: ChatRequest,
  target: Target,
  { thinking: style }: Traits,
  max_tokens: number,
  { isForced, isForgotten }: Obstacles,
): { readonly fields: Json; readonly isDropped: boolean } {
  const fields = effortFields(request, target, effort => fieldsOf(effort, style));
  const { thinking } = fields;
  // Adaptive thinking has no such limits.
  if (!isObject(thinking) || thinking.type !== 'enabled') return { fields, isDropped: false };
  if (isForced || isForgotten || max_tokens <= least_budget_tokens) {
    return { fields: { ...fields, thinking: { type: 'disabled' } }, isDropped: true };
  }
  const room = Math.max(least_budget_tokens, Math.floor(max_tokens * thinking_share));
  const asked = typeof thinking.budget_tokens === 'number' ? thinking.budget_tokens : room;
  const budget_tokens = Math.max(least_budget_tokens, Math.min(asked, room));
  return { fields: { ...fields, thinking: { ...thinking, budget_tokens } }, isDropped: false };
}

/** Whether these fields enable thinking. Newer models think by default, whatever the request says. */
export const isThinking = ({ thinking }: Json): boolean => isObject(thinking) && thinking.type !== 'disabled';

/** Whether these fields disable thinking. */
export const isSilenced = ({ thinking }: Json): boolean => isObject(thinking) && thinking.type === 'disabled';
