import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Dice } from '../../../src/simulator/seed.ts';
import { ledgerRecords } from '../../../src/stores/records/ledger-records.ts';
import { migrate } from '../../../src/stores/records/migrate.ts';
import { openSqlite } from '../../../src/stores/records/sqlite.ts';
import { madeUpRow } from '../../support/dashboard-traffic.ts';
import { DashboardVisitor, dashboardAdmin } from '../../support/dashboard-visitor.ts';
import { sidecarConfig, startSidecar } from '../../support/sidecar-process.ts';
import { median } from '../figures.ts';
import { cpuSecondsOf } from '../machine.ts';
import { accountName, modelNames } from './dashboard-fill.ts';
import { pagesOf } from './dashboard-pages.ts';
import type { GrowthTable } from './growth-table.ts';

const [accounts, days, batch, views] = [5000, 90, 300, 20];
/** Pages whose cost may grow with accounts, models and time, and not with the rows. */
const titles = [
  'Overview',
  'Requests',
  'Requests of all times',
  'Usage, 30 days over two months',
  'Usage, all',
];

/** Rows of exchanges in the 90 days before `now_ms`, and the CPU time of the thread and of SQLite's for each of the last. */
async function insertUpTo(path: string, from: number, to: number, now_ms: number): Promise<number> {
  const database = await openSqlite(path);
  await migrate(database, false, now_ms);
  const ledger = ledgerRecords(database);
  const dice = new Dice(1 + from);
  const measured_from = Math.max(from, to - 15_000);
  let [before, measured] = [process.cpuUsage(), 0];
  for (let at = from; at < to; at += batch) {
    if (at < measured_from) [before, measured] = [process.cpuUsage(), 0];
    const rows = Array.from({ length: Math.min(batch, to - at) }, () => {
      const started_ms = Math.floor(now_ms - dice.roll() * days * 86_400_000);
      const account = accountName(Math.floor(accounts * dice.roll() ** 3));
      return {
        ...madeUpRow(account, dice.pick(modelNames), 1, started_ms, () => dice.roll()),
        provider: 'local',
      };
    });
    await ledger.insert(rows);
    measured += rows.length;
  }
  const { user, system } = process.cpuUsage(before);
  await database.close();
  return (user + system) / measured;
}

/** CPU milliseconds of each page, from a sidecar over the store. */
async function pageCosts(path: string, now_ms: number): Promise<number[]> {
  const config = sidecarConfig('http://127.0.0.1:9/v1', {
    admin: dashboardAdmin(),
    stores: { records: `sqlite:${path}` },
  } as never);
  const models = modelNames.map(id => ({ ...config.models![0]!, id, name: id }));
  const sidecar = await startSidecar({ ...config, models } as never);
  try {
    const visitor = new DashboardVisitor(`${sidecar.adminUrl}/dashboard/`);
    await visitor.signIn();
    const pages = pagesOf(now_ms, { account: '', key: '', request: '' });
    const costs: number[] = [];
    for (const title of titles) {
      const page = pages.find(([name]) => name === title)![1];
      const view = async () => {
        const { status } = await visitor.get(page);
        if (status !== 200) throw new Error(`${page} was answered with ${status}`);
      };
      // Linux counts CPU time in steps of 10 ms.
      const rounds: number[] = [];
      for (let round = 0; round < 3; round++) {
        const before_s = cpuSecondsOf(sidecar.pid);
        for (let times = 0; times < views; times++) await view();
        rounds.push(((cpuSecondsOf(sidecar.pid) - before_s) / views) * 1000);
      }
      costs.push(median(rounds));
    }
    return costs;
  } finally {
    await sidecar.stop();
  }
}

/** What a row of the ledger and the dashboard's pages cost, on SQLite. */
export function ledgerTable(): GrowthTable {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-growth-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'ledger.db');
  const now_ms = Date.now();
  let rows = 0;
  return {
    title: `Rows of the ledger, of ${accounts} accounts in ${days} days, on SQLite`,
    unit: 'rows',
    sizes: [1e4, 1e5, 1e6, 1e7],
    columns: [
      { head: 'insert, CPU µs', digits: 0, growth: 'constant' },
      { head: 'bytes each', digits: 0, growth: 'constant' },
      ...titles.map(title => ({ head: `${title}, CPU ms`, digits: 1, growth: 'constant' as const })),
    ],
    async measure(size) {
      const insert_us = await insertUpTo(path, rows, size, now_ms);
      rows = size;
      return [insert_us, statSync(path).size / size, ...(await pageCosts(path, now_ms))];
    },
  };
}
