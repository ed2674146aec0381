import type { UsageSum } from '../../stores/records/usage-query.ts';
import { numberOf } from './format.ts';
import { type Html, html } from './html.ts';
import { type Column, tableOf } from './table.ts';

/** One line of usage: its name, its link, and its totals. */
export interface UsageLine {
  readonly name: string;
  readonly link?: string;
  readonly total: Omit<UsageSum, 'account' | 'model' | 'day' | 'month'>;
}

/** Dollars to a hundredth of a cent, with the exact sum as its tooltip. */
export function dollars(cost_usd: string): Html {
  const [whole = '0', decimals = ''] = Number(cost_usd).toFixed(4).split('.');
  return html`<data value="${cost_usd}" title="exactly ${cost_usd} USD">$${numberOf(Number(whole))}.${decimals}</data>`;
}

/** Usage with a line for each group, called `title` in its first column. */
export function usageTable(label: string, title: string, lines: readonly UsageLine[]): Html {
  const number = (heading: string, value: (total: UsageLine['total']) => number): Column<UsageLine> => ({
    title: heading,
    cell: ({ total }) => numberOf(value(total)),
    isNumber: true,
  });
  return tableOf<UsageLine>(
    label,
    [
      {
        title,
        cell: ({ name, link }) => (link === undefined ? name : html`<a href="${link}">${name}</a>`),
        isName: true,
      },
      number('Requests', ({ requests }) => requests),
      number('Failed', ({ failed_requests }) => failed_requests),
      number('Prompt', ({ prompt_tokens }) => prompt_tokens),
      number('Cached', ({ cached_tokens }) => cached_tokens),
      number('Completion', ({ completion_tokens }) => completion_tokens),
      number('Reasoning', ({ reasoning_tokens }) => reasoning_tokens),
      number('Tokens', ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens),
      { title: 'Cost', cell: ({ total }) => dollars(total.cost_usd), isNumber: true },
    ],
    lines,
  );
}
