import { hasPaid, type Totals } from '../../../src/plugin.ts';
import type { Scope } from '../scope.ts';
import { errorColumns } from './error-counts.ts';
import { dollars, numberOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { type Column, names, numbers, tableOf } from './table.ts';

/** One line of usage: its name, its link, and its totals. */
export interface UsageLine {
  readonly name: Part;
  readonly link?: string;
  readonly total: Totals;
}

const nameOf = ({ name, link }: UsageLine) =>
  link === undefined ? name : html`<a href="${link}">${name}</a>`;

const count = (title: string, of: (total: Totals) => number): Column<UsageLine> =>
  numbers(title, ({ total }) => numberOf(of(total)));

/** Usage with a line for each group, called `title` in its first column. */
export const usageTable = (scope: Scope, label: string, title: string, lines: readonly UsageLine[]): Html =>
  tableOf<UsageLine>(
    label,
    [
      names(title, nameOf),
      count('Requests', ({ requests }) => requests),
      ...errorColumns<UsageLine>(({ total }) => total, lines, scope),
      count('Prompt', ({ prompt_tokens }) => prompt_tokens),
      count('Cached', ({ cached_tokens }) => cached_tokens),
      count('Completion', ({ completion_tokens }) => completion_tokens),
      count('Reasoning', ({ reasoning_tokens }) => reasoning_tokens),
      count('Tokens', ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens),
      ...(scope.sees.money ? [costColumn] : []),
      ...(scope.sees.margins && hasPaid(lines.map(({ total }) => total)) ? paidColumns : []),
    ],
    lines,
  );

const costColumn: Column<UsageLine> = numbers('Cost', ({ total }) => dollars(total.cost_usd));

const paidColumns: readonly Column<UsageLine>[] = [
  numbers('Paid', ({ total }) => total.paid_usd && dollars(total.paid_usd)),
  numbers('Margin', ({ total }) => total.margin_usd && dollars(total.margin_usd)),
];
