import type { Totals } from '../usage-totals.ts';
import { numberOf } from './format.ts';
import { type Html, html } from './html.ts';
import { type Column, tableOf } from './table.ts';

/** One line of usage: its name, its link, and its totals. */
export interface UsageLine {
  readonly name: string;
  readonly link?: string;
  readonly total: Totals;
}

/** Dollars to a hundredth of a cent, with the exact sum as its tooltip. */
export function dollars(cost_usd: string): Html {
  const [whole = '0', decimals = ''] = Number(cost_usd).toFixed(4).split('.');
  return html`<data value="${cost_usd}" title="exactly ${cost_usd} USD">$${numberOf(Number(whole))}.${decimals}</data>`;
}

const nameOf = ({ name, link }: UsageLine) =>
  link === undefined ? name : html`<a href="${link}">${name}</a>`;

const count = (title: string, of: (total: Totals) => number): Column<UsageLine> => ({
  title,
  cell: ({ total }) => numberOf(of(total)),
  isNumber: true,
});

/** Usage with a line for each group, called `title` in its first column. */
export const usageTable = (label: string, title: string, lines: readonly UsageLine[]): Html =>
  tableOf<UsageLine>(
    label,
    [
      { title, cell: nameOf, isName: true },
      count('Requests', ({ requests }) => requests),
      count('Failed', ({ failed_requests }) => failed_requests),
      count('Prompt', ({ prompt_tokens }) => prompt_tokens),
      count('Cached', ({ cached_tokens }) => cached_tokens),
      count('Completion', ({ completion_tokens }) => completion_tokens),
      count('Reasoning', ({ reasoning_tokens }) => reasoning_tokens),
      count('Tokens', ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens),
      { title: 'Cost', cell: ({ total }) => dollars(total.cost_usd), isNumber: true },
    ],
    lines,
  );
