import type { Command } from 'commander';
import { notOneOf } from '../diagnostics/config-error.ts';
import { isDay } from '../stores/records/calendar-day.ts';
import { no_model, usageColumns } from '../stores/records/usage-columns.ts';
import { type UsageGroup, usageGroups } from '../stores/records/usage-query.ts';
import { type RecordsOptions, recordsCommand, type Voice, withStore } from './command.ts';
import { CommandMistake } from './mistake.ts';
import { type FormatOptions, formatOf, shownRows, withFormat } from './output-table.ts';

interface UsageOptions extends RecordsOptions, FormatOptions {
  readonly account?: string;
  readonly model?: string;
  readonly from?: string;
  readonly to?: string;
  readonly by: readonly string[];
}

/** `sluice usage`. */
export const usageCommand = (voice: Voice): Command =>
  withFormat(recordsCommand('usage'))
    .description('sum up the ledger')
    .option('-a, --account <ACCOUNT>', 'usage of this account')
    .option('-m, --model <MODEL>', 'usage of this model')
    .option(
      '--from <DAY>',
      'the first day in UTC, such as 2026-11-20; that of the current month if not given',
    )
    .option('--to <DAY>', 'the last day; today if not given')
    .option('--by <GROUP...>', `${usageGroups.join(', ')}; several as --by day --by model`, ['model'])
    .addHelpText(
      'after',
      `
An exchange belongs to the day on which it began. Costs are exact, at the catalog's prices at the time. A table ends with the total.`,
    )
    .action((options: UsageOptions) => showUsage(options, voice));

async function showUsage(options: UsageOptions, voice: Voice): Promise<void> {
  const by = options.by.flatMap(text => text.split(',')).map(groupOf);
  const today = new Date().toISOString().slice(0, 10);
  const from_day = dayOf('--from', options.from) ?? `${today.slice(0, 8)}01`;
  const to_day = dayOf('--to', options.to) ?? today;
  if (from_day > to_day) throw new CommandMistake(`--from ${from_day} is after --to ${to_day}`);
  const { account, model } = options;
  await withStore(options, async ({ store }) => {
    const query = {
      from_day,
      to_day,
      ...(account !== undefined && { account }),
      // As it is shown.
      ...(model !== undefined && { model: model === no_model ? '' : model }),
    };
    const rows = await store.usage.sum({ ...query, by });
    const [total] = await store.usage.sum({ ...query, by: [] });
    if (formatOf(options) === 'table' && total) rows.push({ ...total, [by[0]!]: 'all' });
    voice.print(shownRows(rows, usageColumns(by), options));
    if (!total)
      voice.remark(
        `nothing${account === undefined ? '' : ` of account ${account}`}${model === undefined ? '' : ` with model ${model}`} from ${from_day} to ${to_day}`,
      );
    else if (total.estimated_requests > 0)
      voice.remark('estimated: requests whose upstream sent no usage, or not to the end');
  });
}

function groupOf(text: string): UsageGroup {
  const group = usageGroups.find(name => name === text);
  if (!group) throw new CommandMistake(`--by ${notOneOf(text, usageGroups)}`);
  return group;
}

function dayOf(flag: string, text: string | undefined): string | undefined {
  if (text === undefined || isDay(text)) return text;
  throw new CommandMistake(`${flag} must be a day in UTC such as 2026-11-20, not '${text}'`);
}
