import { picoUsd, type UsageGroup, type UsageSum, usdOf } from '../../../src/plugin.ts';
import type { Scope } from '../scope.ts';
import { errorColumns } from './error-counts.ts';
import { dollars, numberOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { type Column, numbers, tableOf } from './table.ts';

/** What exchanges add up to. */
export type Totals = Omit<UsageSum, UsageGroup>;

/** Exact total of `sums`. */
export function totalOf(sums: readonly UsageSum[]): Totals {
  const count = (name: Exclude<keyof Totals, 'cost_usd'>) =>
    sums.reduce((total, sum) => total + sum[name], 0);
  return {
    requests: count('requests'),
    failed_requests: count('failed_requests'),
    provider_failed: count('provider_failed'),
    gateway_failed: count('gateway_failed'),
    refusal: count('refusal'),
    client_error: count('client_error'),
    estimated_requests: count('estimated_requests'),
    prompt_tokens: count('prompt_tokens'),
    completion_tokens: count('completion_tokens'),
    cached_tokens: count('cached_tokens'),
    reasoning_tokens: count('reasoning_tokens'),
    cost_usd: usdOf(sums.reduce((total, { cost_usd }) => total + picoUsd(cost_usd), 0n)),
  };
}

/** Totals by group, in the order of first occurrence. */
export const totalsBy = (
  sums: readonly UsageSum[],
  group: 'model' | 'day' | 'month',
): readonly (readonly [name: string, total: Totals])[] =>
  [...Map.groupBy(sums, sum => sum[group]!)].map(([name, members]) => [name, totalOf(members)]);

/** One line of usage: its name, its link, and its totals. */
export interface UsageLine {
  readonly name: Part;
  readonly link?: string;
  readonly total: Totals;
}

const nameOf = ({ name, link }: UsageLine) =>
  link === undefined ? name : html`<a href="${link}">${name}</a>`;

const count = (title: string, of: (total: Totals) => number): Column<UsageLine> => ({
  title,
  cell: ({ total }) => numberOf(of(total)),
  isNumber: true,
});

/** Usage with a line for each group, called `title` in its first column. */
export const usageTable = (scope: Scope, label: string, title: string, lines: readonly UsageLine[]): Html =>
  tableOf<UsageLine>(
    label,
    [
      { title, cell: nameOf, isName: true },
      count('Requests', ({ requests }) => requests),
      ...errorColumns<UsageLine>(({ total }) => total, lines, scope),
      count('Prompt', ({ prompt_tokens }) => prompt_tokens),
      count('Cached', ({ cached_tokens }) => cached_tokens),
      count('Completion', ({ completion_tokens }) => completion_tokens),
      count('Reasoning', ({ reasoning_tokens }) => reasoning_tokens),
      count('Tokens', ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens),
      ...(scope.sees.money ? [costColumn] : []),
    ],
    lines,
  );

const costColumn: Column<UsageLine> = numbers('Cost', ({ total }) => dollars(total.cost_usd));
