import type { Scope } from '../scope.ts';
import { errorsText } from './error-counts.ts';
import { numberOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { dollars } from './money.ts';
import type { Totals } from './usage-table.ts';

/** Totals as figures, each with its change since `before` if that is known, which `note` tells. */
export function usageTiles(scope: Scope, total: Totals, before: Totals | undefined, note: Part): Html {
  const figure = (title: string, value: Part, of: (totals: Totals) => number, more: Part = '') =>
    html`<div class="figure"><dt>${title}</dt><dd><strong>${value}</strong> ${before && html`<span class="change">${changeOf(of(total), of(before))}</span> `}<span class="muted">${more}</span></dd></div>`;
  const estimated = total.estimated_requests > 0 && `${numberOf(total.estimated_requests)} estimated`;
  return html`<section class="panel" aria-label="Totals"><dl class="figures">
${figure('Requests', numberOf(total.requests), ({ requests }) => requests, errorsText(total, scope))}
${figure('Prompt tokens', numberOf(total.prompt_tokens), ({ prompt_tokens }) => prompt_tokens, `${numberOf(total.cached_tokens)} cached`)}
${figure('Completion tokens', numberOf(total.completion_tokens), ({ completion_tokens }) => completion_tokens, `${numberOf(total.reasoning_tokens)} reasoning`)}
${scope.sees.money && figure('Cost', dollars(total.cost_usd), ({ cost_usd }) => Number(cost_usd), estimated)}
</dl>${note}</section>`;
}

/** `+12.5 %`; from nothing there is no percentage. */
function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? '±0 %' : 'new';
  const percent = ((now - before) / before) * 100;
  const rounded = Math.abs(percent) < 100 ? Number(percent.toFixed(1)) : Math.round(percent);
  if (rounded === 0) return '±0 %';
  return `${rounded > 0 ? '+' : '−'}${numberOf(Math.abs(rounded))} %`;
}
