import {
  type AuditEntry,
  csvOf,
  isMonth,
  max_statement_lines,
  monthOf,
  monthStart,
  no_model,
  RecordRefused,
  type Statement,
  type StatementLine,
  signedPicoUsd,
  signedUsdOf,
  statementColumns,
  statementOf,
  type Totals,
  totalOf,
} from '../../../src/plugin.ts';
import { type AccountView, findAccount } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { fileResponse, PageError, type PageResponse, redirect } from '../page-response.ts';
import { accountLink, dollars, linkOf, minuteOf, muted, numberOf, timeOf } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { perMillion } from '../view/price-table.ts';
import { choiceField } from '../view/search-form.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { type Column, emptyState, money, names, numbers, tableOf } from '../view/table.ts';

/** Months to choose from, with the present one. */
const listed_months = 24;
/** Lines on a page, and credits; the file has all lines. */
const max_lines = 2000;

/** What one account has used in one month, to be printed; the month before this one, unless the address names another. */
export const statementPage: Page = { name: 'statement', get: shown };

/** The same as a file, with the lines that `sluice usage --month` prints. */
export const statementExportPage: Page = { name: 'statement-csv', get: exported };

interface Asked {
  readonly account: AccountView;
  readonly statement: Statement;
}

async function asked({ context, query, scope }: PageRequest): Promise<Asked> {
  const month = query.get('month') || monthOf(monthStart(context.clock.epoch_ms(), -1));
  if (!isMonth(month)) throw new PageError(422, 'This is no month such as 2026-10.');
  const id = query.get('account')?.replaceAll('\0', '\ufffd') ?? '';
  const account = scope.account ?? (await findAccount(context, id));
  if (!account)
    throw new PageError(404, `There is no account “${id}”.`, 'Look for it in the list of accounts.');
  const { store } = context.records;
  const statement = await statementOf(store, month, account.id, max_statement_lines).catch(tooLong);
  return { account, statement };
}

function tooLong(thrown: unknown): never {
  if (!(thrown instanceof RecordRefused)) throw thrown;
  throw new PageError(
    422,
    `The statement has more than ${max_statement_lines} lines.`,
    'Use the command sluice usage --month.',
  );
}

async function exported(request: PageRequest): Promise<PageResponse> {
  const { statement } = await asked(request);
  const columns = statementColumns(statement, request.scope.sees.money);
  const lines = statement.lines.map(line => columns.map(({ value }) => String(value(line))));
  const csv = csvOf([columns.map(({ title }) => title), ...lines]);
  return fileResponse(`statement-${statement.month}.csv`, 'text/csv', `${csv}\r\n`);
}

async function shown(request: PageRequest): Promise<PageResponse> {
  const { scope, query } = request;
  // Of all accounts together it is a table of usage, from which each has its own.
  if (!scope.account && !query.get('account'))
    return redirect(linkOf('usage', { time: 'last-month', by: 'account' }));
  const { account, statement } = await asked(request);
  const { month, lines } = statement;
  const credits = scope.sees.money ? await creditsOf(request, account, month) : [];
  const empty = emptyState('Nothing was used in this month.', 'Choose another one above.');
  return pageResponse(request, {
    title: `Statement ${month} of ${account.display_name || account.id}`,
    section: scope.account ? '' : 'accounts',
    body: html`${chooser(request, account, month)}
${panel('account', 'Account', facts(request, account, statement))}
${panel('models', 'By model', lines.length === 0 ? empty : modelTable(request, statement))}
${credits.length > 0 && panel('credit', 'Credit', creditTable(credits))}
${lines.length > 0 && panel('by-key', 'By model and key', keyTable(request, statement))}`,
  });
}

function facts({ context, scope }: PageRequest, { id, display_name, plan }: AccountView, of: Statement) {
  const now_ms = context.clock.epoch_ms();
  const isOver = of.month < monthOf(now_ms);
  return html`<dl>
<dt>Number</dt><dd>${of.month}/${id}${!isOver && ', not final: the month is not over'}</dd>
<dt>Account</dt><dd>${scope.account ? id : accountLink(id)}${display_name && ` · ${display_name}`}</dd>
<dt>Plan</dt><dd>${plan ?? muted('none')}</dd>
<dt>Period</dt><dd>${of.from_day} to ${of.to_day}, days of UTC</dd>
<dt>Made at</dt><dd>${minuteOf(now_ms)}</dd>
${scope.sees.money && html`<dt>Total</dt><dd><strong>${dollars(of.total.cost_usd, of.decimals)}</strong> in US dollars</dd>`}
</dl>`;
}

/** Another month, and the file; neither is printed. */
function chooser({ context, scope }: PageRequest, { id }: AccountView, month: string): Part {
  const now_ms = context.clock.epoch_ms();
  const months = Array.from({ length: listed_months }, (_, at) => monthOf(monthStart(now_ms, -at)));
  const all = months.includes(month) ? months : [month, ...months];
  const account = scope.account ? undefined : id;
  const choices = all.map(name => [name, name] as const);
  return html`<form method="get" action="statement" class="row panel unprinted">
${account && html`<input type="hidden" name="account" value="${account}">`}
${choiceField('Month', 'month', choices, month)}
<button>Show</button>
<a class="button" href="${linkOf('statement-csv', { account, month })}">Download as CSV</a>
<span class="muted">Print this page for a copy on paper or as PDF.</span>
</form>`;
}

/** Counts, and the cost with the decimals of the statement. */
function figureColumns<R extends Totals>({ scope }: PageRequest, { decimals }: Statement): Column<R>[] {
  const count = (title: string, of: (line: R) => number) => numbers<R>(title, line => numberOf(of(line)));
  return [
    count('Requests', ({ requests }) => requests),
    count('Prompt', ({ prompt_tokens }) => prompt_tokens),
    count('Cached', ({ cached_tokens }) => cached_tokens),
    count('Completion', ({ completion_tokens }) => completion_tokens),
    count('Reasoning', ({ reasoning_tokens }) => reasoning_tokens),
    ...(scope.sees.money ? [numbers<R>('Cost', ({ cost_usd }) => dollars(cost_usd, decimals))] : []),
  ];
}

type ModelLine = Totals & { readonly model: string | undefined };

/** A line for each model, with its prices as they are today, and the total. */
function modelTable(request: PageRequest, statement: Statement): Part {
  const { context, scope } = request;
  const models = new Map(context.catalog.models.map(one => [one.id, one.pricing]));
  const lines = [...Map.groupBy(statement.lines, ({ model }) => model)].map(
    ([model, parts]): ModelLine => ({ ...totalOf(parts), model }),
  );
  const priceColumn = (title: string, kind: 'prompt' | 'input_cache_read' | 'completion') =>
    numbers<ModelLine>(title, ({ model = '' }) => {
      const price = models.get(model)?.[kind];
      return price !== undefined && perMillion(price);
    });
  const prices = [
    priceColumn('Prompt, a million', 'prompt'),
    priceColumn('Cached, a million', 'input_cache_read'),
    priceColumn('Completion, a million', 'completion'),
  ];
  const columns = [
    names<ModelLine>('Model', ({ model }) => (model === undefined ? 'Total' : model || no_model)),
    ...(scope.sees.money ? prices : []),
    ...figureColumns<ModelLine>(request, statement),
  ];
  const foot: ModelLine = { ...statement.total, model: undefined };
  return html`${tableOf(`Usage in ${statement.month} by model`, columns, lines, undefined, { foot })}
${scope.sees.money && html`<p class="muted">Prices are those of today, of a million tokens. Costs are at the prices at the time of each request.</p>`}`;
}

function keyTable(request: PageRequest, statement: Statement): Part {
  const { lines, total, month } = statement;
  const foot = { ...total, account: '', model: 'Total', key: '', key_name: '' };
  const columns = [
    names<StatementLine>('Model', ({ model }) => model || no_model),
    names<StatementLine>('Key', line => (line === foot ? '' : keyOf(line))),
    ...figureColumns<StatementLine>(request, statement),
  ];
  const listed = lines.slice(0, max_lines);
  return html`${tableOf(`Usage in ${month} by model and key`, columns, listed, undefined, { foot })}
${lines.length > max_lines && html`<p>The first ${numberOf(max_lines)} of ${numberOf(lines.length)} lines; the total is of all of them.</p>`}`;
}

const keyOf = ({ key, key_name }: StatementLine): Part =>
  key === ''
    ? muted('others')
    : html`<a href="${linkOf('key', { id: key })}">${key_name || key}</a> ${key_name && muted(key)}`;

/** Prepaid credit that was added, the first of the month first. */
interface Credit {
  readonly at_ms: number;
  /** Undefined if what there was before came from the plan. */
  readonly added_usd: string | undefined;
  /** All that was ever added. */
  readonly total_usd: string;
}

async function creditsOf({ context }: PageRequest, { id }: AccountView, month: string): Promise<Credit[]> {
  const from_ms = Date.parse(`${month}-01`);
  const time = { from_ms, until_ms: monthStart(from_ms, 1) };
  const entries = await context.records.store.audit.list({
    target: id,
    actions: ['account.credit'],
    ...time,
    limit: max_lines,
  });
  return entries.flatMap(creditOf).reverse();
}

type Limited = { readonly limits?: { readonly usd_total?: unknown } };

function creditOf({ at_ms, detail }: AuditEntry): Credit[] {
  const { before, ...after } = JSON.parse(detail) as Limited & { readonly before?: Limited };
  const [was, total_usd] = [before, after].map(usdIn);
  if (total_usd === undefined) return [];
  const added_usd = was && signedUsdOf(signedPicoUsd(total_usd) - signedPicoUsd(was));
  return [{ at_ms, added_usd, total_usd }];
}

/** The amount of a limit, which may be a rule with more than that. */
function usdIn(limited: Limited | undefined): string | undefined {
  const rule = limited?.limits?.usd_total as
    | { readonly limit?: unknown }
    | string
    | number
    | null
    | undefined;
  const amount = typeof rule === 'object' ? rule?.limit : rule;
  return amount === undefined || amount === null ? undefined : String(amount);
}

const creditTable = (credits: readonly Credit[]): Part =>
  tableOf<Credit>(
    'Credit that was added',
    [
      { title: 'Time', cell: ({ at_ms }) => timeOf(at_ms) },
      money('Added', ({ added_usd }) => added_usd),
      money('Credit in all', ({ total_usd }) => total_usd),
    ],
    credits,
  );
