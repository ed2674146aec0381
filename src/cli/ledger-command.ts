import { createReadStream } from 'node:fs';
import { Command } from 'commander';
import { linesOf, loggedRow } from '../stores/ledger/logged-rows.ts';
import { insertAccepted } from '../stores/ledger/row-writer.ts';
import { isRow, type LedgerEntry } from '../stores/records/ledger-entry.ts';
import type { LedgerRecords } from '../stores/records/ledger-records.ts';
import { type RecordsOptions, recordsCommand, type Voice, withStore } from './command.ts';
import { CommandMistake } from './mistake.ts';

const batch_rows = 500;
/** How many lines that cannot be imported are listed one by one. */
const listed_lines = 20;

/** `sluice ledger …`. */
export const ledgerCommand = (voice: Voice): Command =>
  new Command('ledger').description('the ledger in the records store').addCommand(
    recordsCommand('import [LOGFILE]')
      .description(
        'import ledger rows that exist only in the log; from standard input without LOGFILE, or for -',
      )
      .addHelpText(
        'after',
        `
Reads lines with "ledger_row" and skips all others. Rows that are there already stay as they are: a log may be imported again, as long
as the rows are kept.`,
      )
      .action((file = '-', options: RecordsOptions) => importRows(file, options, voice)),
  );

async function importRows(file: string, options: RecordsOptions, voice: Voice): Promise<void> {
  await withStore(options, async ({ store }) => {
    const source = (file === '-' ? process.stdin : createReadStream(file)).setEncoding('utf8');
    const done = new Import(store.ledger, voice);
    try {
      for await (const line of linesOf(source)) await done.line(line);
    } catch (thrown) {
      const { code, message } = thrown as NodeJS.ErrnoException;
      // A file that is missing, a directory, or one that may not be read.
      if (code?.startsWith('E')) throw new CommandMistake(`sluice ledger import: ${message}`);
      throw thrown;
    }
    await done.end();
  });
}

/** Rows on their way from a log to the ledger, and what became of them. */
class Import {
  readonly #ledger: Pick<LedgerRecords, 'insert'>;
  readonly #voice: Voice;
  #lines = 0;
  #batch: LedgerEntry[] = [];
  #imported = 0;
  #present = 0;
  /** Batches of refused exchanges; the store does not report which were new. */
  #batches = 0;
  #failed = 0;

  constructor(ledger: Pick<LedgerRecords, 'insert'>, voice: Voice) {
    this.#ledger = ledger;
    this.#voice = voice;
  }

  async line(text: string): Promise<void> {
    this.#lines++;
    const logged = loggedRow(text);
    if (logged.kind === 'unreadable') this.#fail(`line ${this.#lines}: ${logged.why}`);
    if (logged.kind === 'row' && this.#batch.push(logged.row) === batch_rows) await this.#insert();
  }

  /** Enters the rest, and says what was done. Throws a CommandMistake if a row could not be entered. */
  async end(): Promise<void> {
    await this.#insert();
    const batches = this.#batches === 0 ? '' : `, batches of refusals, each counted once: ${this.#batches}`;
    this.#voice.print(
      `imported: ${this.#imported}, already there: ${this.#present}, unreadable: ${this.#failed}${batches}`,
    );
    if (this.#failed > 0) throw new CommandMistake('not every ledger row of the log could be imported');
  }

  async #insert(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    let refused = 0;
    const added = await insertAccepted(
      rows => this.#ledger.insert(rows),
      batch,
      (row, fault) => {
        if (isRow(row)) refused++;
        this.#fail(`row ${row.id}: ${(fault as Error).message}`);
      },
    );
    this.#imported += added;
    this.#batches += batch.filter(entry => !isRow(entry)).length;
    this.#present += batch.filter(isRow).length - added - refused;
  }

  #fail(what: string): void {
    if (this.#failed++ < listed_lines) this.#voice.remark(what);
  }
}
