import { markdownTable } from '../figures.ts';

/** How a figure may grow with the size: as much as the size itself, or not at all. */
export type Growth = 'linear' | 'constant';

/** A figure in a growth table; `growth` is what is expected of it, where anything is. */
export interface Column {
  readonly head: string;
  readonly digits: number;
  readonly growth?: Growth;
}

/** The cost of something against its size. */
export interface GrowthTable {
  readonly title: string;
  /** What the sizes count. */
  readonly unit: string;
  readonly sizes: readonly number[];
  readonly columns: readonly Column[];
  /** The figures of one size, in the order of the columns. */
  measure(size: number): Promise<readonly number[]>;
}

/** The figures of a table, size by size. */
export type Figures = readonly { readonly size: number; readonly values: readonly number[] }[];

/** How much steeper than expected a line may be: noise, and the logarithm of a tree that is searched. */
const slack = 0.2;
/** The exponent that is expected of each. */
const exponents = { constant: 0, linear: 1 } as const;

/**
 * The exponent with which values grow: their slope in a doubly logarithmic picture. Of what is linear over the last two sizes, where
 * what every size costs no longer hides it; of what is constant over all.
 */
export function exponentOf(
  points: readonly (readonly [size: number, value: number])[],
  growth: Growth,
): number {
  const from = growth === 'linear' ? points.at(-2)! : points[0]!;
  const to = points.at(-1)!;
  return Math.log(to[1] / from[1]) / Math.log(to[0] / from[0]);
}

/** The exponents of the columns of which something is expected. */
function exponents_of({ columns }: GrowthTable, figures: Figures): (number | undefined)[] {
  return columns.map(({ growth }, column) =>
    growth === undefined || figures.length < 2
      ? undefined
      : exponentOf(
          figures.map(({ size, values }) => [size, values[column]!] as const),
          growth,
        ),
  );
}

/** The columns that grow faster than they should. */
export function tooSteep(table: GrowthTable, figures: Figures): string[] {
  return exponents_of(table, figures).flatMap((exponent, column) => {
    const { head, growth } = table.columns[column]!;
    const isSteep = exponent !== undefined && exponent > exponents[growth!] + slack;
    return isSteep ? [`${table.title}: ${head} grows with n^${exponent.toFixed(2)}`] : [];
  });
}

/** A row for each size, and one with how each figure grows. */
export function growthText(table: GrowthTable, figures: Figures): string {
  const rows = figures.map(({ size, values }) => [
    size.toLocaleString('en'),
    ...values.map((value, column) => value.toFixed(table.columns[column]!.digits)),
  ]);
  const last = exponents_of(table, figures).map(exponent =>
    exponent === undefined ? '' : `n^${Math.max(0, exponent).toFixed(2)}`,
  );
  const head = [table.unit, ...table.columns.map(column => column.head)];
  return `**${table.title}**\n\n${markdownTable(head, [...rows, ['grows with', ...last]])}`;
}
