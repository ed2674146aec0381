import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '../../src/simulator/server.ts';
import type { Database } from '../../src/stores/records/database.ts';
import { migrate } from '../../src/stores/records/migrate.ts';
import { openPostgres } from '../../src/stores/records/postgres.ts';
import { openSqlite } from '../../src/stores/records/sqlite.ts';
import { DashboardVisitor, dashboardAdmin } from '../support/dashboard-visitor.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { fill, modelNames } from './dashboard-fill.ts';
import { type DashboardOptions, dashboardOptionsOf, type StoreName, usage } from './dashboard-options.ts';
import { type AskedPage, askedPages } from './dashboard-pages.ts';
import { disturbance, thisMachine } from './machine.ts';
import { median } from './statistics.ts';
import { markdownTable } from './table.ts';

/** `npm run bench:dashboard`: how long an operator waits for every page of the dashboard with a large records store. */

const bound_ms = 300;
const say = (words: string) => process.stderr.write(`${words}\n`);

/** How long the tries of a page took, and whether all instances answered with the same. */
interface Measured {
  readonly page: AskedPage;
  readonly tries_ms: readonly number[];
  readonly isSame: boolean;
}

async function measured(visitors: readonly DashboardVisitor[], pages: readonly AskedPage[], times: number) {
  const results: Measured[] = [];
  for (const page of pages) {
    const tries_ms: number[] = [];
    for (let tries = 0; tries < times; tries++) {
      const began_ms = performance.now();
      const { status } = await visitors[0]!.get(page.path);
      tries_ms.push(performance.now() - began_ms);
      if (status !== 200) throw new Error(`${page.path} was answered with ${status}`);
    }
    results.push({
      page,
      tries_ms,
      isSame: page.path.startsWith('overview') || (await isSame(visitors, page)),
    });
  }
  return results;
}

/** Whether all instances show the same, but for the tokens of forms. */
async function isSame(visitors: readonly DashboardVisitor[], { path }: AskedPage): Promise<boolean> {
  const answers = await Promise.all(visitors.map(visitor => visitor.get(path)));
  return (
    new Set(answers.map(({ text }) => text.replaceAll(/name="form_token" value="[^"]+"/g, ''))).size === 1
  );
}

/** The ids before the last page of each list. */
async function lastOf(database: Database) {
  const id = async (sql: string) => (await database.run<{ id: string }>(sql))[0]!.id;
  return {
    account: await id('SELECT id FROM accounts ORDER BY id DESC LIMIT 1 OFFSET 20'),
    key: await id('SELECT id FROM api_keys ORDER BY id LIMIT 1 OFFSET 20'),
  };
}

/** Fills `database`, then asks `instances` gateways on `records` for every page. */
async function measuredStore(
  database: Database,
  records: string,
  instances: number,
  options: DashboardOptions,
): Promise<Measured[]> {
  const now_ms = Date.now();
  await fill(database, options, now_ms, say);
  // What Postgres does by itself within minutes of so many changes, and SQLite never.
  if (records.startsWith('postgres:')) await database.run('ANALYZE');
  const pages = askedPages(now_ms, await lastOf(database));
  await database.close();
  const simulator = await startSimulator();
  const config = sidecarConfig(simulator.url, {
    admin: dashboardAdmin(),
    stores: { records },
    plans: {
      free: { requests_per_minute: 15, tokens_per_day: 20_000 },
      standard: { requests_per_minute: 100 },
    },
  });
  const [first] = config.models!;
  const models = modelNames.map(id => ({ ...first!, id, name: id }));
  const sidecars: SidecarProcess[] = [];
  try {
    for (let at = 0; at < instances; at++) sidecars.push(await startSidecar({ ...config, models } as never));
    const visitors = sidecars.map(({ adminUrl }) => new DashboardVisitor(`${adminUrl}/dashboard/`));
    for (const visitor of visitors) await visitor.signIn();
    return await measured(visitors, pages, options.times);
  } finally {
    for (const sidecar of sidecars) await sidecar.stop();
    await simulator.close();
  }
}

const stores: Readonly<Record<StoreName, (options: DashboardOptions) => Promise<Measured[]>>> = {
  sqlite: async options => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-dashboard-'));
    const path = join(directory, 'bench.db');
    try {
      const database = await openSqlite(path);
      await migrate(database, false, Date.now());
      return await measuredStore(database, `sqlite:${path}`, 1, options);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
  postgres: async options => {
    const server = await startPostgres();
    try {
      const database = await openPostgres(server.url, () => {});
      await migrate(database, true, Date.now());
      return await measuredStore(database, server.url, 2, options);
    } finally {
      await server.stop();
    }
  },
};

/** One table of all stores; pages that took too long or differ are marked. Returns how many those are. */
function report(results: ReadonlyMap<StoreName, readonly Measured[]>): number {
  let faults = 0;
  const cells = ({ page, tries_ms, isSame }: Measured): string[] => {
    const worst_ms = Math.max(...tries_ms);
    const isLate = !page.isFile && worst_ms > bound_ms;
    if (isLate || !isSame) faults++;
    return [
      median(tries_ms).toFixed(0),
      `${worst_ms.toFixed(0)}${isLate ? ' late' : ''}${isSame ? '' : ' differs'}`,
    ];
  };
  const names = [...results.keys()];
  const [some = []] = results.values();
  const rows = some.map(({ page }, at) => [
    page.title,
    ...names.flatMap(name => cells(results.get(name)![at]!)),
  ]);
  const head = ['Page', ...names.flatMap(name => [`${name} median ms`, 'worst ms'])];
  process.stdout.write(`${markdownTable(head, rows)}\n`);
  return faults;
}

const options = dashboardOptionsOf(process.argv.slice(2));
if (!options) process.stdout.write(usage);
else {
  const machine = thisMachine();
  for (const words of disturbance(machine)) say(words);
  const results = new Map<StoreName, Measured[]>();
  for (const name of options.stores) {
    say(`${name}:`);
    results.set(name, await stores[name](options));
  }
  const faults = report(results);
  say(`${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}`);
  if (faults > 0) say(`${faults} pages took longer than ${bound_ms} ms, or were not the same everywhere`);
  process.exitCode = faults > 0 ? 1 : 0;
}
