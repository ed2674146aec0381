import type { Totals } from '../../src/plugin.ts';
import type { Scope } from './scope.ts';

/** What bars and changes can be of. */
export interface Measure {
  readonly title: string;
  readonly unit: 'count' | 'usd';
  /** Exact: an amount of dollars as text. */
  readonly of: (total: Totals) => number | string;
}

/** The measures, by name in the address; the first that a reader may see is the default. */
export const measures = {
  cost: { title: 'Cost', unit: 'usd', of: ({ cost_usd }) => cost_usd },
  tokens: {
    title: 'Tokens',
    unit: 'count',
    of: ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens,
  },
  requests: { title: 'Requests', unit: 'count', of: ({ requests }) => requests },
} as const satisfies Readonly<Record<string, Measure>>;
export type MeasureName = keyof typeof measures;

/** The measures of a reader. */
export const measuresFor = ({ sees }: Scope): readonly MeasureName[] =>
  (Object.keys(measures) as MeasureName[]).filter(name => sees.money || measures[name].unit !== 'usd');
