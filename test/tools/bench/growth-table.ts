import { markdownTable } from '../figures.ts';

/** The cost of something against its size. */
export interface GrowthTable {
  readonly title: string;
  /** What the sizes count. */
  readonly unit: string;
  readonly columns: readonly {
    readonly head: string;
    readonly digits: number;
    /** How the figure may grow with the size: as much as the size itself, or not at all. */
    readonly growth: 'linear' | 'constant';
  }[];
}

/** The figures of a table, size by size, in the order of the columns. */
export type Figures = readonly { readonly size: number; readonly values: readonly number[] }[];

/** How much steeper than expected a line may be: noise, and the logarithm of a tree that is searched. */
const slack = 0.2;
const expected = { constant: 0, linear: 1 } as const;

/**
 * The exponents with which values grow: their slopes in a doubly logarithmic picture. Of what is linear over the last two sizes, where
 * what every size costs no longer hides it; of what is constant over all. Not a number for a single size.
 */
const exponentsOf = ({ columns }: GrowthTable, figures: Figures): number[] =>
  columns.map(({ growth }, column) => {
    const [from, to] = [figures.at(growth === 'linear' ? -2 : 0) ?? figures[0]!, figures.at(-1)!];
    return Math.log(to.values[column]! / from.values[column]!) / Math.log(to.size / from.size);
  });

/** The columns that grow faster than they should. */
export const tooSteep = (table: GrowthTable, figures: Figures): string[] =>
  exponentsOf(table, figures).flatMap((exponent, column) => {
    const { head, growth } = table.columns[column]!;
    const isSteep = exponent > expected[growth] + slack;
    return isSteep ? [`${table.title}: ${head} grows with n^${exponent.toFixed(2)}`] : [];
  });

/** A row for each size, and one with how each figure grows. */
export function growthText(table: GrowthTable, figures: Figures): string {
  const rows = figures.map(({ size, values }) => [
    size.toLocaleString('en'),
    ...values.map((value, column) => value.toFixed(table.columns[column]!.digits)),
  ]);
  const last = exponentsOf(table, figures).map(exponent =>
    Number.isNaN(exponent) ? '' : `n^${Math.max(0, exponent).toFixed(2)}`,
  );
  const head = [table.unit, ...table.columns.map(column => column.head)];
  return `**${table.title}**\n\n${markdownTable(head, [...rows, ['grows with', ...last]])}`;
}
