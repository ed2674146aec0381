import type { PageRequest } from '../page-request.ts';
import { type Html, html } from '../view/html.ts';

/** Selection of configured plans, and of the chosen plan even if it no longer exists. */
export function planSelect({ context }: PageRequest, chosen: string | null | undefined): Html {
  const plans = Object.keys(context.settings.plans);
  const isGone = chosen && !plans.includes(chosen);
  return html`<label>Plan <select name="plan">
<option value="">none</option>
${plans.map(plan => html`<option value="${plan}" ${plan === chosen && html`selected`}>${plan}</option>\n`)}
${isGone && html`<option value="${chosen}" selected disabled>${chosen} (not configured)</option>`}
</select></label>`;
}

/** Why `plan` cannot be chosen; undefined if it can. */
export const noSuchPlan = ({ context }: PageRequest, plan: string | null): string | undefined =>
  plan === null || Object.hasOwn(context.settings.plans, plan)
    ? undefined
    : `There is no plan “${plan}” in the configuration.`;
