import { notOneOf } from '../diagnostics/config-error.ts';
import { isDay } from '../stores/records/calendar-day.ts';
import { no_model, usageColumns } from '../stores/records/usage-columns.ts';
import { type UsageGroup, usageGroups } from '../stores/records/usage-records.ts';
import { asksForHelp, parsed, type Voice, withContext } from './command.ts';
import { CommandMistake } from './flags.ts';
import { formatOf, shownRows } from './output-table.ts';

const help = `sluice usage: what the ledger adds up to (stores.records in the configuration)

  sluice usage [--account A] [--model M] [--from DAY] [--to DAY] [--by model|day|month|account] [--format table|csv|json] --config FILE

Days are in UTC, as in 2026-11-20, and both inclusive; an exchange belongs to the day on which it began. Without --from and --to: the
current month. --by may be given several times (--by day --by model); by model without it. --csv is short for --format csv.
Costs are exact, at the catalog's prices at the time. A table ends with the sum of all.
`;

/** `sluice usage …`. */
export async function usageCommand(args: readonly string[], voice: Voice): Promise<void> {
  if (args[0] === 'help' || asksForHelp(args)) return voice.print(help);
  const { values, positionals } = parsed('usage', args, {
    account: { type: 'string', short: 'a' },
    model: { type: 'string', short: 'm' },
    from: { type: 'string' },
    to: { type: 'string' },
    by: { type: 'string', multiple: true },
    format: { type: 'string' },
    csv: { type: 'boolean' },
  });
  if (positionals.length > 0)
    throw new CommandMistake(
      `sluice usage: what is '${positionals[0]}'? An account is given as --account NAME`,
    );
  const by = (values.by ?? ['model']).flatMap(text => text.split(',')).map(groupOf);
  const format = formatOf(values.format, values.csv);
  const today = new Date().toISOString().slice(0, 10);
  const from_day = dayOf('--from', values.from) ?? `${today.slice(0, 8)}01`;
  const to_day = dayOf('--to', values.to) ?? today;
  if (from_day > to_day) throw new CommandMistake(`--from ${from_day} is after --to ${to_day}`);
  const { account, model } = values;
  await withContext('usage', values.config, voice, async ({ store }) => {
    const query = {
      from_day,
      to_day,
      ...(account !== undefined && { account }),
      // As it is shown.
      ...(model !== undefined && { model: model === no_model ? '' : model }),
    };
    const rows = await store.usage.sum({ ...query, by });
    const [total] = await store.usage.sum({ ...query, by: [] });
    if (format === 'table' && total) rows.push({ ...total, [by[0]!]: 'all' });
    voice.print(shownRows(rows, usageColumns(by), format));
    if (!total)
      voice.remark(
        `nothing${account === undefined ? '' : ` of account ${account}`}${model === undefined ? '' : ` with model ${model}`} from ${from_day} to ${to_day}`,
      );
    else if (total.estimated_requests > 0)
      voice.remark(`estimated: requests whose upstream did not tell its usage, or not to the end`);
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
