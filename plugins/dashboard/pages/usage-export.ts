import {
  csvOf,
  hasPaid,
  isTagGroup,
  RecordRefused,
  type TaggedQuery,
  usageColumns,
  usageGroups,
} from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { fileResponse, PageError, type PageResponse } from '../page-response.ts';
import { sumsOf, toMonthEnd } from '../usage-figures.ts';
import { accountOf, type UsageView, usageView } from '../usage-view.ts';

/** Maximum rows of a download of an operator and of a customer, which is built in memory. */
const [max_rows, max_rows_of_customer] = [200_000, 50_000];

/** Usage as a file, with the lines that `sluice usage --csv` prints for the same query; without costs for those who see no money. */
export const usageExportPage: Page = { name: 'usage-csv', get: exported };

type Groups = TaggedQuery['by'];

async function exported(request: PageRequest): Promise<PageResponse> {
  const { context, query, scope } = request;
  const { view, fault } = usageView(request);
  if (fault !== undefined) throw new PageError(422, fault);
  const by = query.has('by') ? groupsIn(query, view) : (['model'] as const);
  if (by.some(group => group === 'key' || isTagGroup(group)) && accountOf(view) === undefined)
    throw new PageError(
      422,
      'Usage by key is exported for one account.',
      'Choose an account, or use the command sluice usage --csv.',
    );
  const asked = by.some(group => group === 'day' || group === 'hour')
    ? view
    : toMonthEnd(view, context.clock.epoch_ms());
  const most = scope.account ? max_rows_of_customer : max_rows;
  const rows = await sumsOf(context, asked, { by, limit: most + 1 }).catch(tooMany);
  if (rows.length > most) tooMany(new RecordRefused(`the export has more than ${most} lines`));
  const columns = usageColumns(by, scope.sees.money, scope.sees.margins && hasPaid(rows));
  const lines = rows.map(row => columns.map(({ value }) => String(value(row))));
  const name = `usage-by-${by.join('-').replaceAll(':', '-')}-${view.from_day}-to-${view.to_day}.csv`;
  return fileResponse(name, 'text/csv', `${csvOf([columns.map(({ title }) => title), ...lines])}\r\n`);
}

function tooMany(thrown: unknown): never {
  if (!(thrown instanceof RecordRefused)) throw thrown;
  throw new PageError(422, `${thrown.message}.`, 'Choose fewer days, or one account.');
}

/** Those of customers as well, whose account is always the same. */
const outerGroups: Groups = ['model', 'key', 'hour', 'day', 'month'];

/** The groups of an export, each once: many of them would not fit into memory. Throws a PageError for what is not offered. */
function groupsIn(query: URLSearchParams, { scope, tags }: UsageView): Groups {
  const offered = scope.sees.internals ? [...usageGroups, ...tags] : outerGroups;
  return [...new Set(query.getAll('by'))].map(text => {
    const group = offered.find(name => name === text);
    if (group) return group;
    throw new PageError(422, `“${text}” is not a group of usage; there are: ${offered.join(', ')}.`);
  });
}
