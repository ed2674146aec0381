import { stringify } from 'csv-stringify/sync';

/** Lines of cells as CSV (RFC 4180), quoted where needed. Text that a spreadsheet would run as a formula gets a `'` in front. */
export const csvOf = (lines: readonly (readonly string[])[]): string =>
  stringify(
    lines.map(line => line.map(cell => (isFormula(cell) ? `'${cell}` : cell))),
    { record_delimiter: '\r\n', eof: false, quoted_match: /[\r\n]/ },
  );

/** The library's `escape_formulas` would mark negative numbers as well. */
const isFormula = (cell: string): boolean => /^[=+\-@\t\r]/.test(cell) && Number.isNaN(Number(cell));
