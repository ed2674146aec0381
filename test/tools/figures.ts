/** The middle of `values`; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The value below which `share` of all lie; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * The mean of the least tenth of `values`, of two at least; NaN of none. What other programs on the machine do to a round only ever makes it
 * dearer, often by half: so neighbours are told apart by their least rounds, and not by their medians.
 */
export function least(values: readonly number[]): number {
  const lowest = values.toSorted((a, b) => a - b).slice(0, Math.max(2, Math.ceil(values.length / 10)));
  return lowest.reduce((sum, value) => sum + value, 0) / lowest.length;
}

/** A table in Markdown: the first column to the left, the others, which are numbers, to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)));
  const padded = (text: string, column: number) =>
    column === 0 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!);
  const line = (cells: readonly string[]) => `| ${cells.map(padded).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
