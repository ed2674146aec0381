import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../../plugins/stores/postgres/postgres.ts';
import { migrate } from '../../../plugins/stores/records/migrate.ts';
import { pruning } from '../../../plugins/stores/records/pruning.ts';
import type { Database } from '../../../src/records/database.ts';
import { hours_ms } from '../../../src/records/pruning.ts';
import { openSqlite } from '../../../src/records/sqlite/sqlite.ts';
import { startSimulator } from '../../../src/simulator/server.ts';
import {
  DashboardVisitor,
  dashboardAdmin,
  operator,
  password_hash,
} from '../../support/dashboard-visitor.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { sidecarConfig, startSidecar } from '../../support/sidecar-process.ts';
import { numberFrom } from '../command-options.ts';
import { markdownTable, median } from '../figures.ts';
import { disturbance, machineText, thisMachine } from '../machine.ts';
import { defineTool, say } from '../tool.ts';
import { accountName, type FillOptions, fill, modelNames } from './dashboard-fill.ts';
import { type Page, pagesOf, portalPagesOf } from './dashboard-pages.ts';

const bound_ms = 300;
const count = numberFrom(1, 99_999_999);
const prune_step = 5000;

type Options = FillOptions & { readonly times: number };

/** How long an operator waits for the pages of the dashboard with a large records store, SQLite and Postgres. */
export const tool = defineTool<Options>({
  about: `One Markdown table on stdout, progress on stderr. Exit code 1 if any page ever took longer than ${bound_ms} ms.`,
  options: command =>
    command
      .option('--rows <N>', 'exchanges in the ledger, more on later days', count, 1_000_000)
      .option('--keys <N>', 'keys, of a fifth as many accounts', count, 100_000)
      .option('--accounts <N>', 'that have used anything, some much more than others', count, 5000)
      .option('--days <N>', 'how far the ledger goes back', count, 400)
      .option('--times <N>', 'how often each page is asked for', count, 11),
  async run({ options }) {
    const machine = thisMachine();
    for (const note of disturbance(machine)) say(note);
    const results = [await onSqlite(options), await onPostgres(options)];
    const faults = report(results);
    say(machineText(machine));
    if (faults > 0) say(`${faults} pages took longer than ${bound_ms} ms`);
    return faults === 0;
  },
});

/** The times of each page of one store. */
interface Measured {
  readonly store: string;
  readonly pages: { readonly title: string; readonly tries_ms: readonly number[] }[];
}

async function measurePage(visitor: DashboardVisitor, [title, path]: Page, times: number) {
  const tries_ms: number[] = [];
  for (let tries = 0; tries < times; tries++) {
    const began_ms = performance.now();
    const { status } = await visitor.get(path);
    tries_ms.push(performance.now() - began_ms);
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
  }
  return { title, tries_ms };
}

/** Fills `database`, then asks a gateway on `records` for every page. */
async function measureStore(
  options: Options,
  store: 'sqlite' | 'postgres',
  database: Database,
  records: string,
): Promise<Measured> {
  const now_ms = Date.now();
  say(`${store}: filling in ${options.rows} rows and ${options.keys} keys`);
  await migrate(database, store === 'postgres', now_ms);
  await fill(database, options, now_ms);
  // As a gateway does every hour.
  const old = pruning(database);
  while ((await old.hours(now_ms - hours_ms, prune_step)) !== 0);
  while ((await old.traffic(now_ms, prune_step)) !== 0);
  say(`filled in within ${((Date.now() - now_ms) / 1000).toFixed(0)} s`);
  // What Postgres does by itself within minutes of so many changes, and SQLite never.
  if (store === 'postgres') await database.run('ANALYZE');
  const idIn = async (sql: string) => (await database.run<{ id: string }>(sql))[0]!.id;
  const account = await idIn('SELECT id FROM sluice.accounts ORDER BY id DESC LIMIT 1 OFFSET 20');
  const key = await idIn('SELECT id FROM sluice.api_keys ORDER BY id LIMIT 1 OFFSET 20');
  const last = 'ORDER BY started_ms DESC LIMIT 1 OFFSET 1000';
  const request = await idIn(`SELECT request_id AS id FROM sluice.ledger ${last}`);
  await database.close();
  const simulator = await startSimulator();
  const free = { requests_per_minute: 15, tokens_per_day: 20_000 };
  const plans = { free, standard: { requests_per_minute: 100 } };
  const config = sidecarConfig(simulator.url, {
    admin: dashboardAdmin(),
    portal: { enabled: true, users: { carla: { password_hash, account: accountName(0) } } },
    stores: { records },
    plans,
  });
  const models = modelNames.map(id => ({ ...config.models![0]!, id, name: id }));
  const sidecar = await startSidecar({ ...config, models } as never);
  try {
    const pages: Measured['pages'] = [];
    const operators = new DashboardVisitor(`${sidecar.adminUrl}/dashboard/`);
    await operators.signIn();
    for (const page of pagesOf(now_ms, { account, key, request }))
      pages.push(await measurePage(operators, page, options.times));
    const customers = new DashboardVisitor(`${sidecar.url}/portal/`);
    await customers.signIn(operator.password, 'carla');
    for (const page of portalPagesOf(now_ms)) pages.push(await measurePage(customers, page, options.times));
    return { store, pages };
  } finally {
    await sidecar.stop();
    await simulator.close();
  }
}

async function onSqlite(options: Options): Promise<Measured> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-dashboard-'));
  const path = join(directory, 'bench.db');
  try {
    return await measureStore(options, 'sqlite', await openSqlite(path), `sqlite:${path}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function onPostgres(options: Options): Promise<Measured> {
  const server = await startPostgres();
  try {
    const database = await openPostgres(server.url, () => {});
    return await measureStore(options, 'postgres', database, server.url);
  } finally {
    await server.stop();
  }
}

/** One table of all stores; pages that took too long are marked. Files may take longer: they leave no empty window. */
function report(results: readonly Measured[]): number {
  let faults = 0;
  const cells = ({ title, tries_ms }: Measured['pages'][0]): string[] => {
    const worst_ms = Math.max(...tries_ms);
    const isLate = !title.startsWith('CSV') && worst_ms > bound_ms;
    if (isLate) faults++;
    return [median(tries_ms).toFixed(0), `${worst_ms.toFixed(0)}${isLate ? ' late' : ''}`];
  };
  const rows = results[0]!.pages.map(({ title }, at) => [
    title,
    ...results.flatMap(({ pages }) => cells(pages[at]!)),
  ]);
  const head = ['Page', ...results.flatMap(({ store }) => [`${store} median ms`, 'worst ms'])];
  process.stdout.write(`${markdownTable(head, rows)}\n`);
  return faults;
}
