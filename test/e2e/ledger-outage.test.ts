import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { Load, startTellingUpstream, type TellingUpstream } from '../support/ledger-load.ts';
import { readinessLike, recordsDown, sendRequests, timesSaid } from '../support/ledger-watch.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { endServed, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let postgres: PostgresServer;
let telling: TellingUpstream;
let place: RecordsPlace;
let config: GatewayConfig;

beforeAll(async () => {
  [postgres, telling] = await Promise.all([startPostgres(), startTellingUpstream()]);
  place = await recordsPlace(postgres.url);
  config = sidecarConfig(telling.upstream.url, { stores: place.stores });
}, 60_000);
afterEach(endServed);
afterAll(async () => {
  await telling.upstream.close();
  await postgres.stop();
  await place.remove();
});

/** What the daily sums and the rows say; they must be one. For times without writes: these are two questions. */
const ledger = () =>
  place.look(async store => {
    const [sum] = await store.usage.sum({ account: 'tester', by: [] });
    const rows = await store.ledger.list({ account: 'tester', limit: 100_000 });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(sum?.requests ?? 0).toBe(rows.length);
    return {
      requests: rows.length,
      prompt_tokens: rows.reduce((total, row) => total + row.prompt_tokens, 0),
      completion_tokens: sum?.completion_tokens ?? 0,
    };
  });

/** Waits until everything that the upstream told is in the ledger. */
async function allWritten(): Promise<void> {
  const { told } = telling;
  await place.look(({ ledger }) =>
    until(
      async () => (await ledger.list({ account: 'tester', limit: 100_000 })).length >= told.requests,
      10_000,
    ),
  );
  expect(await ledger()).toEqual(told);
}

const metric = async ({ adminUrl }: { adminUrl: string }, pattern: RegExp): Promise<number> => {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(pattern.exec(text)?.[1] ?? Number.NaN);
};

describe('the ledger in Postgres', () => {
  it('loses and duplicates no row while the server is killed, paused and restarted under load', async () => {
    const { key } = await place.look(store =>
      store.keys.create(
        { account: 'tester', name: '', expires_ms: null },
        { actor: 'test', at_ms: Date.now() },
      ),
    );
    const sidecars = await Promise.all([serveHere(config), serveHere(config)]);
    const urls = sidecars.map(({ url }) => url);
    const load = new Load(urls, key, 3);
    await load.more(30);
    const usual_ms = load.slowest_ms;
    await postgres.kill();
    // It goes on serving, so it stays in rotation.
    const told = await readinessLike(sidecars[0]!, /store has been down[\s\S]+ on disk/);
    expect(told).toMatch(
      /^200 ready\nthe records store has been down for \d+ s, .+: .+\nledger writes have failed for \d+ s, .+ on disk .+\n$/,
    );
    expect(await recordsDown(sidecars[0]!)).toEqual(expect.arrayContaining(['changes', 'ledger_insert']));
    expect(await metric(sidecars[0]!, /sluice_ledger_queue_rows\{place="disk"\} (\d+)/)).toBeGreaterThan(0);
    await postgres.start();
    await readinessLike(sidecars[0]!, /^200 ready\n$/);
    await load.more(30);
    postgres.pause();
    await readinessLike(sidecars[0]!, /store has been down[\s\S]+ on disk/);
    await load.more(30);
    postgres.resume();
    await load.more(30);
    await load.stop();

    // The key is of the store and was known: nobody noticed.
    expect(load.count(200)).toBe(load.answers.length);
    expect(load.count(200)).toBe(telling.told.requests);
    expect(load.slowest_ms).toBeLessThan(usual_ms + 3000);
    await allWritten();
    await readinessLike(sidecars[0]!, /^200 ready\n$/);
    await Promise.all(sidecars.map(sidecar => sidecar.stop()));
    await allWritten();
  }, 120_000);

  it('reports that it cannot be written while reads still work, and loses no row', async () => {
    const sidecar = await serveHere(config);
    const other = new pg.Client({ connectionString: postgres.url });
    await other.connect();
    await other.query('BEGIN; LOCK TABLE sluice.ledger IN EXCLUSIVE MODE');
    await sendRequests(sidecar, 5);
    expect(await readinessLike(sidecar, /5 rows on disk/)).toMatch(
      /^200 ready\nledger writes have failed for \d+ s, waiting: 5 rows on disk \(\S+\): .+\n$/,
    );
    expect(await recordsDown(sidecar)).toEqual(['ledger_insert']);
    await other.query('ROLLBACK');
    await other.end();
    await readinessLike(sidecar, /^200 ready\n$/);
    expect(await recordsDown(sidecar)).toEqual([]);
    await sidecar.stop();
    await allWritten();
    expect(timesSaid(sidecar, 'ledger writes fail, rows are queued on disk')).toBe(1);
    expect(timesSaid(sidecar, 'ledger writes succeed again')).toBe(1);
  }, 120_000);

  it('queues rows on disk across a stop and a kill of the gateway, for the next process to write', async () => {
    const stopped = await serveHere(config);
    const killed = await startSidecar(config);
    await postgres.kill();
    const before = telling.told.requests;
    const load = new Load([stopped.url, killed.url], clientKey, 2);
    await load.more(30);
    await load.stop();
    // What is killed may lose what waits in memory; after two seconds nothing does. A row comes a moment after its reply.
    const onDisk = () => metric(killed, /sluice_ledger_queue_rows\{place="disk"\} (\d+)/);
    await until(async () => (await onDisk()) === telling.told.requests - before);
    killed.signal('SIGKILL');
    const started_ms = performance.now();
    await stopped.stop();
    expect(performance.now() - started_ms).toBeLessThan(15_000);
    await killed.exited;
    expect(existsSync(place.stores.ledger_queue)).toBe(true);

    // The store is still out: the gateway starts all the same.
    const next = await serveHere(config);
    expect(next.output()).toContain('is down');
    await postgres.start();
    await allWritten();
    await next.stop();
    await allWritten();
  }, 120_000);

  it('leaves rows on disk when it is stopped while the server does not answer, and ends in time', async () => {
    const sidecar = await serveHere(config);
    await sendRequests(sidecar, 1);
    await allWritten();
    postgres.pause();
    try {
      await sendRequests(sidecar, 5);
      const started_ms = performance.now();
      await sidecar.stop();
      expect(performance.now() - started_ms).toBeLessThan(15_000);
    } finally {
      postgres.resume();
    }
    const next = await serveHere(config);
    await allWritten();
    await next.stop();
  }, 120_000);
});
