import { Command } from 'commander';
import { type CommandContext, CommandMistake, inStore, type Voice, withConfig } from './command.ts';

/** `sluice ledger …`. */
export function ledgerCommand(voice: Voice): Command {
  const ledger = new Command('ledger').description('the ledger in the records store');
  withConfig(ledger.command('import [LOGFILE]'))
    .description(
      'import ledger rows that exist only in the log; from standard input without LOGFILE, or for -',
    )
    .addHelpText(
      'after',
      `
Reads lines with "ledger_row" and skips all others. Rows that are there already stay as they are: a log may be imported again, as long
as the rows are kept.`,
    )
    .action(
      inStore(async (context, file?: string) => {
        const { importRows } = await import('./ledger-import.ts');
        await importRows(context, file);
      }, voice),
    );
  withConfig(ledger.command('find <REQUEST_ID>'))
    .description('print the exchanges with this x-request-id and their attempts, as JSON')
    .addHelpText(
      'after',
      `
Requests that were refused before an upstream was asked are counted, see \`sluice usage\`; only some of them are kept. The log has all.`,
    )
    .action(inStore(findRows, voice));
  return ledger;
}

async function findRows({ store, print }: CommandContext, request_id: string): Promise<void> {
  const found = await store.ledger.find(request_id);
  if (found.length === 0)
    throw new CommandMistake(
      `the ledger has no exchange with the request id '${request_id}'; of refused requests it keeps only some, the log has all`,
    );
  print(JSON.stringify(found, undefined, 2));
}
