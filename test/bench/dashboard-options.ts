import { parseArgs } from 'node:util';

export const usage = `npm run bench:dashboard -- [options]

  --rows N       exchanges in the ledger (default 1000000), on the days up to today, more on later ones
  --keys N       keys (default 100000), of a fifth as many accounts
  --accounts N   accounts that have used anything (default 5000), some of them much more than others
  --days N       how far the ledger goes back (default 400)
  --even         the hardest to add up: every account and day alike
  --stores A,B   of sqlite,postgres (default both); PostgreSQL has two instances, which must answer with the same
  --times N      how often each page is asked for (default 11)

One Markdown table on stdout, progress on stderr. Exit code 1 if any page ever took longer than 300 ms, or if instances differ.
`;

const known = ['sqlite', 'postgres'] as const;
export type StoreName = (typeof known)[number];

/** What is filled in, and what is measured. */
export interface DashboardOptions {
  readonly rows: number;
  readonly keys: number;
  readonly accounts: number;
  readonly days: number;
  readonly even: boolean;
  readonly stores: readonly StoreName[];
  readonly times: number;
}

/** The options of a command line, or `undefined` when it asks for help. Throws an Error that says what is wrong. */
export function dashboardOptionsOf(args: string[]): DashboardOptions | undefined {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '1000000' },
      keys: { type: 'string', default: '100000' },
      accounts: { type: 'string', default: '5000' },
      days: { type: 'string', default: '400' },
      even: { type: 'boolean', default: false },
      stores: { type: 'string', default: known.join(',') },
      times: { type: 'string', default: '11' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  return {
    rows: numberOf('rows', values.rows),
    keys: numberOf('keys', values.keys),
    accounts: numberOf('accounts', values.accounts),
    days: numberOf('days', values.days),
    even: values.even,
    stores: values.stores.split(',').map(storeOf),
    times: numberOf('times', values.times),
  };
}

function storeOf(text: string): StoreName {
  const name = known.find(each => each === text);
  if (!name) throw new Error(`--stores: must be of ${known.join(', ')}, not '${text}'`);
  return name;
}

function numberOf(name: string, text: string): number {
  if (!/^[1-9]\d{0,7}$/.test(text))
    throw new Error(`--${name}: must be a whole number above 0, not '${text}'`);
  return Number(text);
}
