import { hasPaid, type Totals } from '../../../src/plugin.ts';
import type { Scope } from '../scope.ts';
import { type MeasureName, measures, measuresFor } from '../usage-measures.ts';
import { errorColumns } from './error-counts.ts';
import { changeOf, numberOf } from './format.ts';
import type { Part } from './html.ts';
import { type Column, money, names, numbers } from './table.ts';

/** One line of usage. */
export interface UsageLine {
  /** Its name, by which it is sorted. */
  readonly name: string;
  /** The name with its links. */
  readonly shown: Part;
  readonly total: Totals;
  /** The same days before; undefined if nothing is known of them, or there are none. */
  readonly before?: Totals | undefined;
}

const count = (
  key: string,
  title: string,
  of: (total: Totals) => number,
  isExtra = false,
): Column<UsageLine> =>
  numbers(title, ({ total }) => numberOf(of(total)), { key, by: ({ total }) => of(total), isExtra });

/** Columns of usage by what is called `title`: what is measured first, with the time before; then all else that is counted. */
export function usageColumns(
  scope: Scope,
  title: string,
  measure: MeasureName,
  lines: readonly UsageLine[],
): readonly Column<UsageLine>[] {
  const main = {
    cost: usd('cost_usd', 'Cost'),
    requests: count('requests', 'Requests', measures.requests.of),
    tokens: count('total_tokens', 'Tokens', measures.tokens.of),
  };
  const hasBefore = lines.some(({ before }) => before);
  return [
    names(title, ({ shown }) => shown, { key: 'name', by: ({ name }) => name }),
    main[measure],
    ...(hasBefore ? beforeColumns(measure) : []),
    ...measuresFor(scope)
      .filter(name => name !== measure)
      .map(name => main[name]),
    count('failed_requests', 'Errors', ({ failed_requests }) => failed_requests),
    ...errorColumns<UsageLine>(({ total }) => total, lines, scope),
    count('prompt_tokens', 'Prompt', ({ prompt_tokens }) => prompt_tokens),
    count('cached_tokens', 'Cached', ({ cached_tokens }) => cached_tokens),
    count('completion_tokens', 'Completion', ({ completion_tokens }) => completion_tokens),
    count('reasoning_tokens', 'Reasoning', ({ reasoning_tokens }) => reasoning_tokens, true),
    count('estimated_requests', 'Estimated', ({ estimated_requests }) => estimated_requests, true),
    ...(scope.sees.margins && hasPaid(lines.map(({ total }) => total))
      ? [usd('paid_usd', 'Paid'), usd('margin_usd', 'Margin')]
      : []),
  ];
}

const usd = (key: 'cost_usd' | 'paid_usd' | 'margin_usd', title: string): Column<UsageLine> =>
  money(title, ({ total }) => total[key], { key, by: ({ total }) => total[key] && Number(total[key]) });

function beforeColumns(name: MeasureName): Column<UsageLine>[] {
  const { of, unit } = measures[name];
  const change = ({ total, before }: UsageLine) => before && Number(of(total)) - Number(of(before));
  const more = { key: 'before', by: ({ before }: UsageLine) => before && Number(of(before)) };
  return [
    unit === 'usd'
      ? money<UsageLine>('Before', ({ before }) => before?.cost_usd, more)
      : numbers<UsageLine>('Before', ({ before }) => before && numberOf(of(before)), more),
    numbers<UsageLine>(
      'Change',
      ({ total, before }) => before && changeOf(Number(of(total)), Number(of(before))),
      { key: 'change', by: change },
    ),
  ];
}
