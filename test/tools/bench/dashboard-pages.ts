import { dayOf } from '../../../src/common/calendar-day.ts';
import { accountName, modelNames } from './dashboard-fill.ts';

const day_ms = 86_400_000;

/** A title for the table, and the path that is asked for. */
export type Page = readonly [title: string, path: string];

/** Ids in the store: after the first two the last pages of lists begin, and the request is in the middle of the ledger. */
interface Ids {
  readonly account: string;
  readonly key: string;
  readonly request: string;
}

/** The pages of the dashboard that read the store, and usage of times of every length. */
export function pagesOf(now_ms: number, last: Ids): readonly Page[] {
  const account = accountName(0);
  const model = encodeURIComponent(modelNames[0]!);
  const times = timesUntil(now_ms);
  const [week, year, all] = [times[2]!, times[5]!, times[6]!];
  const usage = (of: string, fields: string) =>
    times.map(([title, time]): Page => [`Usage, ${title}${of}`, `usage?${time}${fields}`]);
  const csv = (title: string, time: Page, fields: string): Page => [
    `CSV, ${title}, ${time[0]}`,
    `usage-csv?${time[1]}&by=${fields}`,
  ];
  return [
    ['Overview', ''],
    ['Overview, 24 hours by model', '?since=day&by=model'],
    ['Overview, 30 days by type of error', '?since=month&by=error_type'],
    ['Requests', 'requests'],
    ['Requests of all times', 'requests?since=all'],
    ['Requests of an account, all times', `requests?since=all&account=${account}`],
    ['Requests of a key, 30 days', `requests?since=month&key=key_${account}_1`],
    ['Requests that were refused, 30 days', 'requests?since=month&end=refused'],
    ['Request, looked up by its id', `request?id=${last.request}`],
    ['Requests with an error', 'requests?end=failed&since=month'],
    ['Requests with a failed attempt', 'requests?failed_at=upstream&since=month'],
    ['Accounts', 'accounts'],
    ['Accounts, last page', `accounts?after=${last.account}`],
    ['Accounts, search that finds one', `accounts?search=${accountName(4711).toUpperCase()}`],
    ['Accounts, search that finds thousands', 'accounts?search=mer-0'],
    ['Account', `account?id=${account}`],
    ['Account, limits', `limits?account=${account}`],
    ['Account, history', `history?account=${account}`],
    ['Keys', 'keys'],
    ['Key', `key?id=${last.key}`],
    ['Keys, last page', `keys?all=yes&after=${last.key}`],
    ['Keys, search that finds one', 'keys?search=KEY+47111'],
    ['Keys, search that finds thousands', 'keys?search=key+4'],
    ['Keys of an account', `keys?account=${account}`],
    ['Audit log', 'audit'],
    ['Audit log, of a person', 'audit?who=olga'],
    ['Audit log, changes of accounts', 'audit?action=account'],
    ['Audit log, a day', `audit?from=${dayOf(now_ms - 90 * day_ms)}&to=${dayOf(now_ms - 90 * day_ms)}`],
    ...usage('', ''),
    ...usage(', an account', `&account=${account}`),
    ...usage(', a model', `&model=${model}`),
    ...usage(', by account', '&by=account'),
    ...usage(', by provider', '&by=provider'),
    ...usage(', an account, by key', `&account=${account}&by=key`),
    ...usage(', an account, at a provider', `&account=${account}&provider=local`),
    csv('by account', year, 'account'),
    csv('by account', all, 'account'),
    csv('by day and model', year, 'day&by=model'),
    csv('by day, account and model', week, 'day&by=account&by=model'),
  ];
}

/** The same of the portal, for the account that has most. */
export function portalPagesOf(now_ms: number): readonly Page[] {
  const pages: readonly Page[] = [
    ['start', ''],
    ['keys', 'keys?all=yes'],
    ...timesUntil(now_ms).map(([title, time]): Page => [`usage, ${title}`, `usage?${time}`]),
    ['requests', 'requests'],
    ['requests of all times', 'requests?since=all'],
    ['requests with an error', 'requests?since=month&end=failed'],
    ['limits', 'limits'],
    ['history', 'history'],
  ];
  return pages.map(([title, path]) => [`Portal, ${title}`, path]);
}

function timesUntil(now_ms: number): readonly Page[] {
  const ago = (days: number) => dayOf(now_ms - days * day_ms);
  const now = new Date(now_ms);
  // Of the last month of which half is over, and of the one before.
  const month = now.getUTCMonth() - (now.getUTCDate() > 15 ? 0 : 1);
  const dayIn = (months: number, day: number) => dayOf(Date.UTC(now.getUTCFullYear(), month + months, day));
  return [
    ['this month', ''],
    ['a day', `from=${ago(3)}&to=${ago(3)}`],
    ['7 days', `from=${ago(9)}&to=${ago(3)}`],
    ['30 days over two months', `from=${dayIn(-1, 16)}&to=${dayIn(0, 14)}`],
    ['90 days', `from=${ago(91)}&to=${ago(2)}`],
    ['a year', `from=${ago(367)}&to=${ago(2)}`],
    ['all', 'from=2000-01-02&to=2099-12-30'],
  ];
}
