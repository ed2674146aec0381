import { z } from 'zod';
import {
  csvOf,
  type ExtensionContext,
  isMonth,
  limitedAccount,
  max_statement_lines,
  RecordRefused,
  type Statement,
  statementColumns,
  statementOf,
} from '../../../src/plugin.ts';
import { apiError } from '../api-error.ts';
import { defineRoute } from '../route.ts';

const month = z
  .string()
  .refine(isMonth, 'must be a month in UTC, such as 2026-10')
  .describe('A month in UTC, such as `2026-10`.');

const csv = z
  .string()
  .describe('A line for each account, model and key. All costs have the same number of decimals.');

/** A statement as text, or the error of one that has too many lines. */
async function csvFor({ records }: ExtensionContext, month: string, account?: string) {
  const statement = await statementOf(records.store, month, account, max_statement_lines).catch(thrown => {
    if (!(thrown instanceof RecordRefused)) throw thrown;
    const message = `The statement has more than ${max_statement_lines} lines; use sluice usage --month.`;
    throw apiError('answer_too_long', { message });
  });
  return { lines: statement.lines.length, body: textOf(statement) };
}

function textOf(statement: Statement): string {
  const columns = statementColumns(statement);
  const lines = statement.lines.map(line => columns.map(({ value }) => String(value(line))));
  return `${csvOf([columns.map(({ title }) => title), ...lines])}\r\n`;
}

const accountStatement = defineRoute({
  method: 'GET',
  path: '/accounts/{account}/statements/{month}',
  name: 'getAccountStatement',
  summary: 'Get the statement of an account for a month, as CSV',
  permission: 'audit',
  params: z.object({ account: z.string().max(300).describe('Its id.'), month }),
  reply: csv,
  content_type: 'text/csv',
  async handler({ params: { account, month }, context }) {
    const { lines, body } = await csvFor(context, month, account);
    // One that the application names is known by its usage alone.
    if (lines === 0) await limitedAccount(context, account);
    return { body };
  },
});

const allStatements = defineRoute({
  method: 'GET',
  path: '/statements/{month}',
  name: 'getStatements',
  summary: 'Get the statements of all accounts for a month, as CSV',
  permission: 'audit',
  params: z.object({ month }),
  reply: csv,
  content_type: 'text/csv',
  async handler({ params: { month }, context }) {
    const { body } = await csvFor(context, month);
    return { body };
  },
});

/** Statements. */
export const statementRoutes = [accountStatement, allStatements];
