import { type ChatRequest, invalidField, type Model } from '../../../src/plugin.ts';

/**
 * Checks that `reasoning_effort` is one of the model's levels. A model without levels accepts only `medium`, which has no effect there.
 */
export function checkEffort({ reasoning_effort: asked }: ChatRequest, model: Model): void {
  if (asked === undefined) return;
  const { supported, levels } = model.reasoning_effort;
  const accepted = supported ? levels : ['medium'];
  if (accepted.includes(asked)) return;
  const value = `'${asked.slice(0, 64)}'`;
  throw invalidField(
    'reasoning_effort',
    supported
      ? `${value} is not accepted by ${model.id}; use one of: ${levels.join(', ')}.`
      : `${value} is not accepted: ${model.id} does not support reasoning_effort; leave it out.`,
  );
}
