import { createReadStream } from 'node:fs';
import { isRow, type LedgerEntry } from '../gateway/settlement/ledger-entry.ts';
import { insertAccepted } from '../mount/ledger/ledger-writer.ts';
import { linesOf, loggedRow } from '../mount/ledger/logged-rows.ts';
import { type CommandContext, CommandMistake } from './command.ts';

const batch_rows = 500;
/** Lines that cannot be imported and are listed one by one. */
const listed_lines = 20;

/** Imports the ledger rows in a log, or in standard input for `-`. Throws a CommandMistake for what cannot be read or imported. */
export async function importRows(context: CommandContext, file = '-'): Promise<void> {
  const source = (file === '-' ? process.stdin : createReadStream(file)).setEncoding('utf8');
  const done = new Import(context);
  try {
    for await (const line of linesOf(source)) await done.line(line);
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    // A file that is missing, a directory, or one that may not be read.
    if (code?.startsWith('E')) throw new CommandMistake(`sluice ledger import: ${message}`);
    throw thrown;
  }
  await done.end();
}

/** An import in batches, and what has become of the rows. */
class Import {
  readonly #context: CommandContext;
  #lines = 0;
  #batch: LedgerEntry[] = [];
  #imported = 0;
  #present = 0;
  /** Batches of refused exchanges; the store does not report which were new. */
  #batches = 0;
  #failed = 0;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  async line(text: string): Promise<void> {
    this.#lines++;
    const logged = loggedRow(text);
    if (logged.kind === 'unreadable') this.#fail(`line ${this.#lines}: ${logged.why}`);
    if (logged.kind === 'row' && this.#batch.push(logged.row) === batch_rows) await this.#insert();
  }

  /** Inserts the rest and prints the counts. Throws a CommandMistake if a row could not be imported. */
  async end(): Promise<void> {
    await this.#insert();
    const batches = this.#batches === 0 ? '' : `, batches of refusals, each counted once: ${this.#batches}`;
    this.#context.print(
      `imported: ${this.#imported}, already there: ${this.#present}, unreadable: ${this.#failed}${batches}`,
    );
    if (this.#failed > 0) throw new CommandMistake('not every ledger row of the log could be imported');
  }

  async #insert(): Promise<void> {
    const { ledger } = this.#context.store;
    const batch = this.#batch;
    this.#batch = [];
    let refused = 0;
    const added = await insertAccepted(
      rows => ledger.insert(rows),
      batch,
      (row, fault) => {
        if (isRow(row)) refused++;
        this.#fail(`row ${row.id}: ${(fault as Error).message}`);
      },
    );
    const rows = batch.filter(isRow).length;
    this.#imported += added;
    this.#batches += batch.length - rows;
    this.#present += rows - added - refused;
  }

  #fail(what: string): void {
    if (this.#failed++ < listed_lines) this.#context.remark(what);
  }
}
