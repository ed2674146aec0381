import { z } from 'zod';
import { type Model, requestFields } from '../../../src/plugin.ts';

const { byType } = requestFields;

/** How much a model thinks: a number of tokens or an effort here, one of the model's levels in the canonical form. */

const least_budget_tokens = 1024;
const budgetRule = `must be an integer of at least ${least_budget_tokens}`;
const kinds = {
  enabled: z.object({
    type: z.literal('enabled'),
    budget_tokens: z.int(budgetRule).min(least_budget_tokens, budgetRule),
  }),
  adaptive: z.object({ type: z.literal('adaptive') }),
  disabled: z.object({ type: z.literal('disabled') }),
};

export type Thinking = z.output<(typeof kinds)[keyof typeof kinds]>;

/** The field `thinking`. */
export const thinking = byType<Thinking>(
  kinds,
  `must be one of: ${Object.keys(kinds).join(', ')}`,
  'must be an object {type}',
).nullish();

/** Values of `output_config.effort`. */
export const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof efforts)[number];

/** Known levels, from the least thinking to the most, and the tokens that each stands for. */
const known_levels: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 28_000,
  max: 32_000,
};
const order = Object.keys(known_levels);

/**
 * The level of `model` that is nearest to what is asked; `undefined` if nothing is asked, or if it has no levels. An effort is nearest by its
 * place in the order, a budget by its tokens; of two equally near ones the model's default is taken, or else the lower. An effort counts
 * before a budget, since it says the same more exactly.
 */
export function nearestEffort(
  { reasoning_effort: { levels, default: usual } }: Pick<Model, 'reasoning_effort'>,
  thinking: Thinking | null | undefined,
  effort: Effort | null | undefined,
): string | undefined {
  const place = placeOf(thinking, effort);
  if (!place) return undefined;
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const level of order.filter(name => levels.includes(name))) {
    const distance = place(level);
    if (distance > least || (distance === least && level !== usual)) continue;
    nearest = level;
    least = distance;
  }
  return nearest;
}

/** Distance of a level from what is asked. */
function placeOf(thinking: Thinking | null | undefined, effort: Effort | null | undefined) {
  const asked = thinking?.type === 'disabled' ? 'none' : effort;
  if (asked) return (level: string) => Math.abs(order.indexOf(level) - order.indexOf(asked));
  if (thinking?.type !== 'enabled') return undefined;
  return (level: string) => Math.abs(known_levels[level]! - thinking.budget_tokens);
}
