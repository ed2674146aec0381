import { dayOf } from '../../src/stores/records/calendar-day.ts';
import { accountName, modelNames } from './dashboard-fill.ts';

const day_ms = 86_400_000;

/** A page that is asked for, and what the table calls it. */
export interface AskedPage {
  readonly title: string;
  readonly path: string;
  /** Files may take longer than pages: no empty window is shown meanwhile. */
  readonly isFile?: boolean;
}

/** Every page of the dashboard, and usage of times of every length. `last` are the ids after which the last pages of lists begin. */
export function askedPages(
  now_ms: number,
  last: { readonly account: string; readonly key: string },
): AskedPage[] {
  const account = accountName(0);
  const model = encodeURIComponent(modelNames[0]!);
  return [
    { title: 'Overview', path: '' },
    { title: 'Overview, what its script asks for', path: 'overview-figures?full=yes' },
    { title: 'Accounts', path: 'accounts' },
    { title: 'Accounts, last page', path: `accounts?after=${last.account}` },
    { title: 'Accounts, search that finds one', path: `accounts?search=${accountName(4711).toUpperCase()}` },
    { title: 'Accounts, search that finds thousands', path: 'accounts?search=mer-0' },
    { title: 'Accounts, search that finds none', path: 'accounts?search=nobody-of-this-name' },
    { title: 'Account', path: `account?id=${account}` },
    { title: 'Keys', path: 'keys' },
    { title: 'Keys, with expired and revoked ones', path: 'keys?all=yes' },
    { title: 'Keys, last page', path: `keys?all=yes&after=${last.key}` },
    { title: 'Keys, search that finds one', path: 'keys?search=KEY+47111' },
    { title: 'Keys, search that finds thousands', path: 'keys?search=key+4' },
    { title: 'Keys, search that finds none', path: 'keys?search=nothing-of-this-name' },
    { title: 'Keys of an account', path: `keys?account=${account}` },
    { title: 'Models and providers', path: 'models' },
    { title: 'Playground', path: 'playground' },
    { title: 'Audit log', path: 'audit' },
    ...usagePages(now_ms, account, model),
  ];
}

function usagePages(now_ms: number, account: string, model: string): AskedPage[] {
  const ago = (days: number) => dayOf(now_ms - days * day_ms);
  const times: readonly [string, string][] = [
    ['this month', ''],
    ['a day', `from=${ago(3)}&to=${ago(3)}`],
    ['7 days', `from=${ago(9)}&to=${ago(3)}`],
    ['30 days over two months', `from=${middleOf(now_ms, -1)}&to=${middleOf(now_ms, 0)}`],
    ['90 days', `from=${ago(91)}&to=${ago(2)}`],
    ['a year', `from=${ago(367)}&to=${ago(2)}`],
    ['all', 'from=2000-01-02&to=2099-12-30'],
  ];
  const page = (title: string, path: string) => ({ title: `Usage, ${title}`, path: `usage?${path}` });
  const file = (title: string, path: string) => ({
    title: `CSV, ${title}`,
    path: `usage-csv?${path}`,
    isFile: true,
  });
  return [
    ...times.map(([title, query]) => page(title, query)),
    ...times.map(([title, query]) => page(`${title}, an account`, `${query}&account=${account}`)),
    ...times.map(([title, query]) => page(`${title}, a model`, `${query}&model=${model}`)),
    ...times.slice(-2).map(([title, query]) => file(`by account, ${title}`, `${query}&by=account`)),
    file('by day and model, a year', `${times[5]![1]}&by=day&by=model`),
    file('by day, account and model, 7 days', `${times[2]![1]}&by=day&by=account&by=model`),
  ];
}

/** The 15th of the last month that has it before `now_ms`, or of one before. */
function middleOf(now_ms: number, months: number): string {
  const at = new Date(now_ms);
  const late = at.getUTCDate() > 15 ? 0 : -1;
  return dayOf(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + late + months, months === 0 ? 14 : 16));
}
