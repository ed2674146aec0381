import { Command, Option } from 'commander';
import { dayOf } from '../common/calendar-day.ts';
import { notOneOf } from '../common/config-error.ts';
import { fixedUsd, isMonth, statementColumns, statementOf } from '../records/statement.ts';
import { isTagGroup, sumByTags, type TaggedQuery } from '../records/tagged-usage.ts';
import { hasPaid, no_model, usageColumns } from '../records/usage-columns.ts';
import { usageGroups } from '../records/usage-records.ts';
import { type CommandContext, dayIn, inStore, UsageMistake, type Voice, withConfig } from './command.ts';
import { type FormatOptions, shownRows, withFormat } from './output-table.ts';
import { refusing } from './record-changes.ts';

interface UsageOptions extends FormatOptions {
  readonly account?: string;
  readonly model?: string;
  readonly from?: string;
  readonly to?: string;
  readonly by: readonly string[];
  readonly month?: string;
}

/** `sluice usage`. */
export const usageCommand = (voice: Voice): Command =>
  withFormat(withConfig(new Command('usage')))
    .description('sum up the ledger')
    .option('-a, --account <ACCOUNT>', 'usage of this account')
    .option('-m, --model <MODEL>', 'usage of this model')
    .option(
      '--from <DAY>',
      'the first day in UTC, such as 2026-11-20; that of the current month if not given',
      text => dayIn('--from', text),
    )
    .option('--to <DAY>', 'the last day; today if not given', text => dayIn('--to', text))
    .option('--by <GROUP...>', `${usageGroups.join(', ')}, tag:NAME; several as --by day --by model`, [
      'model',
    ])
    .addOption(
      new Option('--month <MONTH>', 'the statement of a month in UTC, by account, model and key, as CSV')
        .argParser(monthOf)
        .implies({ format: 'csv' })
        .conflicts(['model', 'from', 'to', 'by']),
    )
    .addHelpText(
      'after',
      `
An exchange belongs to the hour and day in which it began, and to the provider that was asked last. Sums by
hour, key and tag, and those of one account by provider, are kept for 92 days. Tags are those that keys have now.
Errors are failures of providers and of the gateway, refusals (401, 403, 429) and errors of clients. Costs are
exact, at the catalog's prices at the time. Paid and margin are those of the requests whose upstreams have
paid_prices. A table ends with the total. A statement has the same decimals in all its costs; what was used by
keys more than 92 days ago, and by keys that are not in the store, is in lines without a key.`,
    )
    .action(inStore(showUsage, voice));

async function showUsage(context: CommandContext, options: UsageOptions): Promise<void> {
  if (options.month !== undefined) return showStatement(context, options.month, options);
  const { store, settings, operator, print, remark } = context;
  const by = options.by.flatMap(text => text.split(',')).map(groupOf);
  const today = dayOf(operator.at_ms);
  const { account, model, from: from_day = `${today.slice(0, 8)}01`, to: to_day = today } = options;
  if (from_day > to_day) throw new UsageMistake(`--from ${from_day} is after --to ${to_day}`);
  const query = { from_day, to_day, account, model: model === no_model ? '' : model };
  const rows = await refusing(() => sumByTags({ store, settings }, { ...query, by }));
  const [total] = await store.usage.sum({ ...query, by: [] });
  if (options.format === 'table' && total) rows.push({ ...total, [by[0]!]: 'all' });
  print(shownRows(rows, usageColumns(by, true, hasPaid(rows)), options));
  if (!total)
    remark(
      `nothing${account === undefined ? '' : ` of account ${account}`}${model === undefined ? '' : ` with model ${model}`} from ${from_day} to ${to_day}`,
    );
  else if (total.estimated_requests > 0)
    remark('estimated: requests whose upstream sent no usage, or not to the end');
}

async function showStatement(
  { store, print, remark }: CommandContext,
  month: string,
  { account, format }: UsageOptions,
): Promise<void> {
  const statement = await statementOf(store, month, account);
  const { lines, total, decimals, from_day, to_day } = statement;
  print(shownRows(lines, statementColumns(statement), { format }));
  const whose = account === undefined ? '' : ` of account ${account}`;
  remark(`${fixedUsd(total.cost_usd, decimals)} USD${whose} from ${from_day} to ${to_day}`);
}

function monthOf(text: string): string {
  if (isMonth(text)) return text;
  throw new UsageMistake(`--month must be a month such as 2026-10, not '${text}'`);
}

function groupOf(text: string): TaggedQuery['by'][number] {
  if (isTagGroup(text)) return text;
  const group = usageGroups.find(name => name === text);
  if (!group) throw new UsageMistake(`--by ${notOneOf(text, [...usageGroups, 'tag:NAME'])}`);
  return group;
}
