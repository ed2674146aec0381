import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startSimulator } from '../../../src/simulator/server.ts';
import { startGateway } from '../../support/gateway-under-test.ts';
import { recordsPlace } from '../../support/records-place.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';
import { SteadyRequests } from './steady-requests.ts';

/** A gateway with these stores, and requests that go well for its clients all the time. */
async function served(stores: object): Promise<Pick<ProvokedService, 'targets' | 'close'>> {
  const simulator = await startSimulator({ api_key: null, tokens_per_second: 1000 });
  const gateway = await startGateway({ upstream: simulator.url, config: { stores } as object });
  const requests = new SteadyRequests(gateway.post);
  requests.send({ per_second: 5, prompt: 'Hello' });
  return {
    targets: [gateway.adminUrl],
    async close() {
      await requests.stop();
      await gateway.close();
      await simulator.close();
    },
  };
}

/** Runs a statement, and says whether the gateway has left the file unlocked for it. */
function isDone(database: DatabaseSync, statement: string): boolean {
  try {
    database.exec(statement);
    return true;
  } catch (fault) {
    if (/locked/.test(String(fault))) return false;
    throw fault;
  }
}

/** A gateway whose ledger's table is taken away for a while, so that the store can be read and not written. */
async function withHiddenLedger(more: object = {}): Promise<ProvokedService> {
  const place = await recordsPlace();
  const { targets, close } = await served({ ...place.stores, ...more });
  const other = new DatabaseSync(join(place.directory, 'sluice.db'));
  return {
    targets,
    provoke: () => until(() => isDone(other, 'ALTER TABLE ledger RENAME TO hidden')),
    heal: () => until(() => isDone(other, 'ALTER TABLE hidden RENAME TO ledger')),
    async close() {
      await close().catch(() => {});
      other.close();
      await place.remove();
    },
  };
}

/** A gateway whose Redis is killed for a while. */
async function withoutRedis(): Promise<ProvokedService> {
  const redis = await startRedis();
  const { targets, close } = await served({ state: redis.url, on_state_store_down: { default: 'local' } });
  return {
    targets,
    provoke: () => redis.kill(),
    heal: () => redis.restart(),
    async close() {
      await close();
      await redis.stop();
    },
  };
}

/** Cases of stores that are down. */
export const casesOfStores: readonly ProvokedCase[] = [
  {
    job: 'ledger-out',
    what: 'the ledger can be read and not written',
    alerts: ['SluiceStoreOut', 'SluiceLedgerBehind'],
    never: ['SluiceErrors', 'SluiceLedgerLost'],
    start: () => withHiddenLedger(),
  },
  {
    job: 'ledger-full',
    what: 'the same, and there is room for three rows',
    alerts: ['SluiceLedgerLost'],
    never: ['SluiceErrors'],
    start: () => withHiddenLedger({ ledger_queue_rows: 3 }),
  },
  {
    job: 'state-store',
    what: 'Redis is killed',
    alerts: ['SluiceStoreOut'],
    never: ['SluiceErrors'],
    start: withoutRedis,
  },
];
