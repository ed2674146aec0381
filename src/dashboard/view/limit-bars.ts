import type { LimitName } from '../../stores/limits/state-store.ts';
import type { Use, Uses } from '../account-view.ts';
import { durationOf, numberOf } from './format.ts';
import { type Html, html } from './html.ts';

const titles: Readonly<Record<LimitName, string>> = {
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  tokens_per_day: 'Tokens per day',
  concurrent_requests: 'Concurrent requests',
  usd_per_month: 'Dollars per month',
};

const reasons: Readonly<Record<Extract<Uses, string>, string>> = {
  'no stage': 'The chain has no stage rate-limit: nothing is limited.',
  'no limits': 'Not limited: give it a plan, or limits of its own.',
  'no plan': 'Its plan is not in the configuration, so its requests are refused. Give it another plan.',
  unknown:
    'Not known at the moment: the store that counts does not answer, or its limits are none. The log says more.',
};

/** Where an account stands under each of its limits. */
export function limitBars(uses: Uses): Html {
  if (typeof uses === 'string')
    return html`<p class="${uses === 'no plan' ? 'notice bad' : 'muted'}">${reasons[uses]}</p>`;
  return html`<ul class="limits">${uses.map(limitBar)}</ul>`;
}

/** One limit: what is used of it, as a bar and in words. */
export function limitBar({ limit, used, reset_ms }: Use): Html {
  const share = Math.min(1, used / limit.max);
  const tone = share >= 0.9 ? 'bad' : share >= 0.7 ? 'warn' : '';
  const reset = used > 0 && reset_ms > 0 ? `all free again in ${durationOf(reset_ms)}` : '';
  return html`<li>
<div class="row"><span>${titles[limit.name]}${limit.model && html` <span class="muted">of ${limit.model}</span>`}</span>
<span><strong>${amountOf(limit.name, used)}</strong> of ${amountOf(limit.name, limit.max)} <span class="muted">${reset}</span></span></div>
<svg class="bar ${tone}" aria-hidden="true" viewBox="0 0 100 1" preserveAspectRatio="none"><rect width="${(share * 100).toFixed(2)}" height="1"/></svg>
</li>`;
}

function amountOf(name: LimitName, amount: number): string {
  return name === 'usd_per_month' ? `$${(amount / 1e9).toFixed(2)}` : numberOf(amount);
}
