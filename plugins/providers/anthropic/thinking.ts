import { type ChatRequest, effortFields, isObject, type Json, type Target } from '../../../src/plugin.ts';

import type { Traits } from './models.ts';

/** Below this the API takes no budget. */
const least_budget_tokens = 1024;
/** How much of the cap may be spent on thinking: without the rest there would be no answer. */
const thinking_share = 0.8;

/** Protocol g. The two between the catalog's usual levels are their neighbours'. */
const budgets: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 32_000,
  max: 32_000,
};

const wordsOf: Readonly<Record<Traits['thinking'], (effort: string) => Json>> = {
  budget: effort =>
    effort === 'none'
      ? { thinking: { type: 'disabled' } }
      : { thinking: { type: 'enabled', budget_tokens: budgets[effort] ?? budgets.medium } },
  adaptive: effort =>
    effort === 'none'
      ? { thinking: { type: 'disabled' } }
      : {
          // Newer models leave their thinking out of the reply unless a summary is asked for.
          thinking: { type: 'adaptive', display: 'summarized' },
          output_config: { effort: effort === 'minimal' ? 'low' : effort },
        },
};

/** Why a request with a thinking budget cannot have one, as far as that is not its cap. */
export interface Obstacles {
  /** A tool is forced. */
  readonly isForced: boolean;
  /** Its turn was begun by a tool call whose thinking is not known here any more. */
  readonly isForgotten: boolean;
}

/** The fields for a request's effort, fitted to its cap; `isDropped` where it cannot think though it was asked to. */
export function thinkingOf(
  request: ChatRequest,
  target: Target,
  { thinking: style }: Traits,
  max_tokens: number,
  { isForced, isForgotten }: Obstacles,
): { readonly fields: Json; readonly isDropped: boolean } {
  const fields = effortFields(request, target, wordsOf[style]);
  const { thinking } = fields;
  // The adaptive kind has no such limits.
  if (!isObject(thinking) || thinking.type !== 'enabled') return { fields, isDropped: false };
  if (isForced || isForgotten || max_tokens <= least_budget_tokens) {
    return { fields: { ...fields, thinking: { type: 'disabled' } }, isDropped: true };
  }
  const room = Math.max(least_budget_tokens, Math.floor(max_tokens * thinking_share));
  const asked = typeof thinking.budget_tokens === 'number' ? thinking.budget_tokens : room;
  const budget_tokens = Math.max(least_budget_tokens, Math.min(asked, room));
  return { fields: { ...fields, thinking: { ...thinking, budget_tokens } }, isDropped: false };
}

/** Whether these fields make the model think. Newer models do so by themselves, which is no matter of the request's. */
export const isThinking = ({ thinking }: Json): boolean => isObject(thinking) && thinking.type !== 'disabled';

/** Whether these fields keep the model from thinking. */
export const isSilenced = ({ thinking }: Json): boolean => isObject(thinking) && thinking.type === 'disabled';
