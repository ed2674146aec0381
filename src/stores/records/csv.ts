/** Lines of cells as CSV (RFC 4180), quoted where needed. A spreadsheet must not take a name for a formula. */
export function csvOf(lines: readonly (readonly string[])[]): string {
  return lines.map(line => line.map(csvCell).join(',')).join('\r\n');
}

function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
