import type { LedgerEntry } from '../../gateway/settlement/ledger-entry.ts';
import { batchSchema, rowSchema } from '../../records/ledger-schema.ts';

/** Much longer than a line with a ledger row; longer ones are not held in memory. */
const max_line_characters = 1_000_000;

/** What a line of a log is: a row, a line that should have one and cannot be read, or something else. */
export type LoggedLine =
  | { readonly kind: 'row'; readonly row: LedgerEntry }
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'other' };

/** Reads a line as `LostRows` writes it. What a log collector has put before the JSON is passed over. */
export function loggedRow(line: string): LoggedLine {
  if (!line.includes('"ledger_row"')) return { kind: 'other' };
  try {
    const { ledger_row } = JSON.parse(line.slice(line.indexOf('{')));
    const schema = 'refusals' in ledger_row ? batchSchema : rowSchema;
    const parsed = schema.safeParse(ledger_row);
    if (parsed.success) return { kind: 'row', row: parsed.data };
    const [issue] = parsed.error.issues;
    return { kind: 'unreadable', why: `${issue!.path.join('.')}: ${issue!.message}` };
  } catch (thrown) {
    return { kind: 'unreadable', why: (thrown as Error).message };
  }
}

/** The lines of a text that arrives in pieces; the rest of a line that is too long is left out. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  for await (const piece of pieces) {
    const [first = '', ...others] = piece.split('\n');
    const room = max_line_characters - held.length;
    held += room > 0 ? first.slice(0, room) : '';
    for (const line of others) {
      yield held;
      held = line.slice(0, max_line_characters);
    }
  }
  if (held !== '') yield held;
}
