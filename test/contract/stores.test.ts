import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import report from '../../examples/own-extension/usage-report.ts';
import { dashboard } from '../../plugins/dashboard/index.ts';
import { placeOfPool, postgresPlace } from '../../plugins/stores/postgres/index.ts';
import { memoryPlace } from '../../plugins/stores/records/index.ts';
import { sqlitePlace } from '../../plugins/stores/sqlite/index.ts';
import { stateServerAt } from '../../src/config/state-server.ts';
import {
  defineExtension,
  LeaseTable,
  type RecordsPlace,
  type RecordsStore,
  type RemoteState,
  type SharedTable,
  type StatePlace,
} from '../../src/published.ts';
import { checkExtension, checkRecordsStore, checkStateStore } from '../../src/testing/index.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

const targets = recordsTargets();
let redis: RedisServer;
let folder: string;
beforeAll(async () => {
  redis = await startRedis();
  folder = await mkdtemp(join(tmpdir(), 'sluice-stores-'));
});
afterAll(async () => {
  await redis.stop();
  await rm(folder, { recursive: true });
});

describe('the contract of records stores', () => {
  it.each<[string, () => Promise<RecordsPlace>]>([
    ['memory', async () => memoryPlace],
    ['SQLite', async () => sqlitePlace(join(folder, 'kept.db'))],
    ['Postgres', async () => postgresPlace(await targets.newDatabase())],
    ["an application's pool", async () => placeOfPool(await targets.newPool())],
  ])('is kept by %s', async (_, newPlace) => {
    await checkRecordsStore(await newPlace());
  });

  it.each<[string, string, (store: RecordsStore) => Partial<RecordsStore>]>([
    ['counts rows twice', 'ledger', ({ ledger }) => ({ ledger: { ...ledger, insert: async () => 2 } })],
    [
      'finds keys that are revoked usable',
      'refusals',
      ({ keys }) => ({ keys: { ...keys, change: async id => (await keys.find(id))! } }),
    ],
    [
      'tells no changes',
      'changes',
      () => ({ changes: { since: async () => ({ change: 1, of: { digests: [], accounts: [] } }) } }),
    ],
    [
      'shows responses that have expired',
      'responses',
      ({ responses }) => ({
        responses: {
          ...responses!,
          chain: (account, id, _, limit) => responses!.chain(account, id, 0, limit),
        },
      }),
    ],
    [
      'deletes sums with their rows',
      'pruning',
      ({ usage }) => ({
        usage: { ...usage, sum: async query => (query.by.length === 0 ? [] : usage.sum(query)) },
      }),
    ],
  ])('is broken by one that %s', async (_, rule, broken) => {
    const place: RecordsPlace = {
      ...memoryPlace,
      async open() {
        const store = await memoryPlace.open();
        return { ...store, ...broken(store) };
      },
    };
    await expect(checkRecordsStore(place)).rejects.toMatchObject({ name: 'ContractError', rule });
  });
});

describe('the contract of state stores', () => {
  it.each<[string, StatePlace]>([
    ['Redis', { open: setup => stateServerAt(redis.url)!.open(setup) }],
    ['a table of another process', { open: setup => ({ state: stateOf(tableOf(setup)) }) }],
  ])('is kept by %s', async (name, server) => {
    await checkStateStore(name, server);
  });

  it.each<[string, string, (table: SharedTable) => SharedTable['exchange']]>([
    [
      'admits everything',
      'limits',
      table => async (holder, message) => {
        const answer = await table.exchange(holder, message);
        const verdicts = message.wants.map(() => ({ over: [], retry_ms: 0, is_held: false }));
        return { ...answer, ...(answer.counted && { counted: { ...answer.counted, verdicts } }) };
      },
    ],
    [
      'counts what is repeated',
      'limits',
      table => {
        let session = 2;
        return (holder, message) => {
          session += message.as_of ? 1 : 0;
          return table.exchange(holder, { ...message, session, seq: 1 });
        };
      },
    ],
  ])('is broken by one that %s', async (name, rule, broken) => {
    const server: StatePlace = {
      open(setup) {
        const exchange = broken(tableOf(setup));
        return { state: stateOf({ exchange }) };
      },
    };
    await expect(checkStateStore(name, server)).rejects.toMatchObject({ rule });
  });
});

const tables = new Map<string, LeaseTable>();
/** The table that all instances with a prefix share. */
function tableOf({ key_prefix, clock, times }: Parameters<StatePlace['open']>[0]): LeaseTable {
  const table = tables.get(key_prefix) ?? new LeaseTable(clock, 'one', times);
  tables.set(key_prefix, table);
  return table;
}
const stateOf = (table: SharedTable): RemoteState => {
  const only = { isGone: false, heartbeat: async () => 1 };
  return {
    exchange: (holder, message) => table.exchange(holder, message),
    serverOf: () => only,
    servers: () => [only],
    close: async () => {},
  };
};

describe('the contract of extensions', () => {
  it('is kept by the dashboard and by the example', async () => {
    // Every gateway has the dashboard; another one of it must not be in its way.
    await checkExtension({ ...dashboard, name: 'other-dashboard' });
    await checkExtension(report, { title: 'Aion' });
  });

  it('is broken by one that answers 500, or not at all', async () => {
    const failing = defineExtension({
      name: 'failing',
      open: () => ({ admin: (_, response) => void response.writeHead(500).end() }),
    });
    await expect(checkExtension(failing)).rejects.toMatchObject({ rule: 'answers', subject: 'failing' });
  });
});
