/** Lines of cells as CSV (RFC 4180), quoted where needed. Text that a spreadsheet would run as a formula gets a `'` in front. */
export const csvOf = (lines: readonly (readonly string[])[]): string =>
  lines.map(line => line.map(cell => quoted(isFormula(cell) ? `'${cell}` : cell)).join(',')).join('\r\n');

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** Negative numbers are none. */
const isFormula = (cell: string): boolean => /^[=+\-@\t\r]/.test(cell) && Number.isNaN(Number(cell));
