import {
  csvOf,
  fixedUsd,
  isMonth,
  max_statement_lines,
  monthOf,
  monthStart,
  no_model,
  RecordRefused,
  type Statement,
  type StatementLine,
  statementColumns,
  statementOf,
} from '../../../src/plugin.ts';
import { type AccountView, findAccount } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { fileResponse, PageError, type PageResponse } from '../page-response.ts';
import { accountLink, linkOf, minuteOf, muted, numberOf } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { type Column, emptyState, names, numbers, tableOf } from '../view/table.ts';

/** Months to choose from, with the present one. */
const listed_months = 24;
/** Lines on a page; the file has all. */
const max_lines = 2000;

/** What one account has used in one month, to be printed. */
export const statementPage: Page = { name: 'statement', get: shown };

/** The same as a file, with the lines that `sluice usage --month` prints. */
export const statementExportPage: Page = { name: 'statement-csv', get: exported };

async function asked({ context, query, scope }: PageRequest) {
  const month = query.get('month') || monthOf(context.clock.epoch_ms());
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
  const { account, statement } = await asked(request);
  const { month, lines } = statement;
  return pageResponse(request, {
    title: `Statement of ${month}`,
    section: request.scope.account ? '' : 'accounts',
    body: html`${chooser(request, account, month)}
${panel('account', 'Account', facts(request, account, statement))}
${panel('lines', 'By model and key', lines.length === 0 ? emptyState('Nothing was used in this month.', 'Choose another one above.') : table(request, statement))}`,
  });
}

function facts({ context, scope }: PageRequest, { id, display_name, plan }: AccountView, of: Statement) {
  const now_ms = context.clock.epoch_ms();
  return html`<dl>
<dt>Account</dt><dd>${scope.account ? id : accountLink(id)}${display_name && ` · ${display_name}`}</dd>
<dt>Plan</dt><dd>${plan ?? muted('none')}</dd>
<dt>Time</dt><dd>${of.from_day} to ${of.to_day}, in UTC</dd>
<dt>As of</dt><dd>${minuteOf(now_ms)}${of.month === monthOf(now_ms) && ', before the end of the month'}</dd>
${scope.sees.money && html`<dt>Total</dt><dd><strong>${money(of.total.cost_usd, of.decimals)} USD</strong></dd>`}
</dl>`;
}

/** Another month, and the file; neither is printed. */
function chooser({ context, scope }: PageRequest, { id }: AccountView, month: string): Part {
  const now_ms = context.clock.epoch_ms();
  const months = Array.from({ length: listed_months }, (_, at) => monthOf(monthStart(now_ms, -at)));
  const all = months.includes(month) ? months : [month, ...months];
  const account = scope.account ? undefined : id;
  return html`<form method="get" action="statement" class="row panel unprinted">
${account && html`<input type="hidden" name="account" value="${account}">`}
<label>Month <select name="month">${all.map(name => html`<option ${name === month && html`selected`}>${name}</option>`)}</select></label>
<button>Show</button>
<a class="button" href="${linkOf('statement-csv', { account, month })}">Download as CSV</a>
<span class="muted">Print this page for a copy on paper or as PDF.</span>
</form>`;
}

function table({ scope }: PageRequest, { lines, total, decimals, month }: Statement) {
  const listed = lines.slice(0, max_lines);
  const sum = { ...total, account: '', model: '', key: '', key_name: '' };
  const bold = (cell: Column<StatementLine>['cell']) => (line: StatementLine) =>
    line === sum ? html`<strong>${cell(line)}</strong>` : cell(line);
  const count = (title: string, of: (line: StatementLine) => number): Column<StatementLine> =>
    numbers(
      title,
      bold(line => numberOf(of(line))),
    );
  const columns: Column<StatementLine>[] = [
    names(
      'Model',
      bold(line => (line === sum ? 'Total' : line.model || no_model)),
    ),
    names('Key', line => (line === sum ? '' : keyOf(line))),
    count('Requests', ({ requests }) => requests),
    count('Prompt', ({ prompt_tokens }) => prompt_tokens),
    count('Cached', ({ cached_tokens }) => cached_tokens),
    count('Completion', ({ completion_tokens }) => completion_tokens),
    count('Reasoning', ({ reasoning_tokens }) => reasoning_tokens),
    ...(scope.sees.money
      ? [
          numbers<StatementLine>(
            'Cost in USD',
            bold(line => money(line.cost_usd, decimals)),
          ),
        ]
      : []),
  ];
  return html`${tableOf(`Usage in ${month} by model and key`, columns, [...listed, sum])}
${lines.length > max_lines && html`<p>The first ${numberOf(max_lines)} of ${numberOf(lines.length)} lines; the total is of all of them.</p>`}
${scope.sees.money && html`<p class="muted">Costs are at the prices of the catalog at the time of each request.</p>`}`;
}

const keyOf = ({ key, key_name }: StatementLine): Part =>
  key === '' ? muted('others') : html`${key_name && html`${key_name} `}${muted(key)}`;

/** `1 234.500000`: as many decimals as every other cost of the statement. */
function money(usd: string, decimals: number): string {
  const [whole, fraction] = fixedUsd(usd, decimals).split('.');
  return `${numberOf(Number(whole))}.${fraction}`;
}
