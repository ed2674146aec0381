import type { LiveFigures } from '../live-figures.ts';
import type { NearLimit } from '../near-limits.ts';
import { linkOf, numberOf } from './format.ts';
import { type Html, html } from './html.ts';
import { limitBar } from './limit-bars.ts';
import { emptyState, tableOf } from './table.ts';

/** The errors since the process began, by type. */
export function errorTable({ errors, requests }: LiveFigures): Html {
  const rows = Object.entries(errors);
  if (rows.length === 0)
    return html`<p class="muted">${requests === 0 ? 'No request has ended yet.' : 'No request has failed since this process began.'}</p>`;
  return tableOf(
    'Errors since the start, by type',
    [
      { title: 'Type', cell: ([type]) => html`<code>${type}</code>`, isName: true },
      { title: 'Since start', cell: ([, count]) => numberOf(count), isNumber: true },
      {
        title: 'Of all requests',
        cell: ([, count]) => `${((count / requests) * 100).toFixed(1)} %`,
        isNumber: true,
      },
    ],
    rows,
  );
}

/** Limits, nearest to their end first. */
export function nearLimitList(near: readonly NearLimit[] | 'out'): Html {
  if (near === 'out') return html`<p class="notice warn">Unknown: the state store does not answer.</p>`;
  if (near.length === 0)
    return emptyState(
      'No active account has used any of its limits.',
      html`Only recently active accounts are listed. Give them plans under <a href="accounts">Accounts</a>.`,
    );
  return html`<ul class="limits">${near.map(
    ({ account, use }) =>
      html`<li><a href="${linkOf('account', { id: account })}">${account}</a><ul class="limits">${limitBar(use)}</ul></li>\n`,
  )}</ul>`;
}
