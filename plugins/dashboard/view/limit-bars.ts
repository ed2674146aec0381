import { type Limit, neverResets, rowOf } from '../../../src/plugin.ts';
import type { Use, Uses } from '../account-view.ts';
import type { Scope } from '../scope.ts';
import { dollarText, durationOf, minuteOf, numberOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { zoneName } from './time-zone.ts';

const reasons: Readonly<Record<Extract<Uses, string>, string>> = {
  'no stage': 'The chain has no stage rate-limit: nothing is limited.',
  'no limits': 'Not limited: give it a plan, or overrides.',
  'no plan': 'Its plan is not in the configuration, so its requests are refused. Give it another plan.',
  unknown: 'Unknown: the state store does not answer, or the stored limits are invalid. See the log.',
};

const not_limited = 'Your account is not limited.';
/** The same for customers. */
const ownReasons: typeof reasons = {
  'no stage': not_limited,
  'no limits': not_limited,
  'no plan': 'Your plan no longer exists, so your requests are refused. Ask the operator of this service.',
  unknown: 'Your usage is not known at the moment. Load the page again.',
};

/** The usage of each limit of an account or a key that the reader sees, or why there is none. */
export function limitBars(uses: Uses, { account, sees }: Scope, beside?: (use: Use) => Part): Html {
  if (typeof uses === 'string')
    return html`<p class="${uses === 'no plan' ? 'notice bad' : 'muted'}">${(account ? ownReasons : reasons)[uses]}</p>`;
  const seen = uses.filter(({ limit }) => sees.money || !isMoney(limit));
  if (seen.length === 0) return html`<p class="muted">Not limited, but for amounts of money.</p>`;
  return html`<ul class="limits">${seen.map(use => limitBar(use, beside?.(use)))}</ul>`;
}

/** One limit: its usage as a bar and as text, and what can be done about it. */
function limitBar({ limit, used, reset_ms }: Use, beside?: Part): Html {
  const share = Math.min(1, used / limit.max);
  const colour = share >= 0.9 ? 'bad' : share >= 0.7 ? 'warn' : 'series-1';
  const reset = used > 0 && reset_ms > 0 && !neverResets(limit) ? `resets in ${durationOf(reset_ms)}` : '';
  return html`<li>
<div class="row"><span>${rowOf(limit).title}${limit.model && html` <span class="muted">of ${limit.model}</span>`}${limit.inherited && html` <span class="muted">shared</span>`}${limit.soft && html` <span class="muted">soft</span>`}${limit.raised_until_ms !== undefined && html` <span class="muted">raised until ${minuteOf(limit.raised_until_ms)} ${zoneName()}</span>`}</span>
<span><strong>${amountOf(limit, used)}</strong> of ${amountOf(limit, limit.max)} <span class="muted">${reset}</span></span></div>
<svg class="bar" fill="var(--${colour})" aria-hidden="true" viewBox="0 0 100 1" preserveAspectRatio="none"><rect width="${(share * 100).toFixed(2)}" height="1"/></svg>
${beside}</li>`;
}

const isMoney = (limit: Limit): boolean => rowOf(limit).unit === 'nano_usd';

function amountOf(limit: Limit, amount: number): string {
  return isMoney(limit) ? dollarText(amount / 1e9) : numberOf(amount);
}
