import type { DashboardContext } from '../dashboard-context.ts';
import { type Html, html } from '../view/html.ts';

/** Selection of configured plans, and of the chosen plan even if it no longer exists. */
export function planSelect({ settings }: DashboardContext, chosen: string): Html {
  const plans = Object.keys(settings.plans);
  const isGone = chosen !== '' && !plans.includes(chosen);
  return html`<label>Plan <select name="plan">
<option value="">none</option>
${plans.map(plan => html`<option value="${plan}" ${plan === chosen && html`selected`}>${plan}</option>\n`)}
${isGone && html`<option value="${chosen}" selected disabled>${chosen} (not configured)</option>`}
</select></label>`;
}
