/** A table in Markdown: the first column to the left, the others, which are numbers, to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => padded(cell, widths[column]!, column)).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

const padded = (text: string, width: number, column: number): string =>
  column === 0 ? text.padEnd(width) : text.padStart(width);
