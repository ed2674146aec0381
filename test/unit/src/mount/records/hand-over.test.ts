import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { systemClock } from '../../../../../src/common/clock.ts';
import type { LedgerRow } from '../../../../../src/gateway/settlement/ledger-entry.ts';
import type { Ledger } from '../../../../../src/mount/ledger/ledger.ts';
import { startWorkerLedger } from '../../../../../src/mount/records/start-ledger.ts';
import { Channel } from '../../../../../src/mount/workers/channel.ts';
import { StoreUnavailable } from '../../../../../src/records/record-errors.ts';
import { RecordsMetrics } from '../../../../../src/telemetry/records-metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { until } from '../../../../support/until.ts';
import { sampleRows } from '../ledger/sample-row.ts';

let ledger: Ledger;
let registry: Registry;
/** Ids of rows that the primary was sent, and what it answers. */
let sent: string[];
let answer: () => unknown;
let close: () => void;

beforeEach(async () => {
  const { port1, port2 } = new MessageChannel();
  close = () => port1.close();
  sent = [];
  answer = () => undefined;
  new Channel(port2).handle('ledger.take', rows => {
    for (const { id } of JSON.parse(rows as string) as LedgerRow[]) sent.push(id);
    return answer();
  });
  registry = new Registry();
  const surroundings = {
    log: capturedLog().log,
    clock: systemClock,
    metrics: new RecordsMetrics(registry),
  };
  ({ ledger } = await startWorkerLedger(surroundings, new Channel(port1)));
});
afterEach(() => close());

const ids = (rows: readonly LedgerRow[]): string[] => rows.map(({ id }) => id);
const dropped = async () => (await registry.getMetricsAsJSON()).find(({ name }) => name.includes('dropped'));

it('hands rows over while the primary has not answered for those before', async () => {
  const slow = Promise.withResolvers<void>();
  answer = () => slow.promise;
  const rows = sampleRows(3);
  for (const [at, row] of rows.entries()) {
    ledger.record(row);
    await until(() => sent.length === at + 1, 1000);
  }
  expect(sent).toEqual(ids(rows));
  slow.resolve();
  expect(await ledger.close()).toBe(0);
});

it('hands rows over again that the primary has refused, and waits for its answer then', async () => {
  answer = () => {
    throw new StoreUnavailable('no room');
  };
  const rows = sampleRows(2);
  for (const row of rows) ledger.record(row);
  // Twice in vain.
  await until(() => sent.length >= 4, 2000);
  answer = () => undefined;
  const tried = sent.length;
  await until(() => sent.length >= tried + 2, 2000);
  expect(new Set(sent)).toEqual(new Set(ids(rows)));
  expect(await ledger.close()).toBe(0);
});

it('logs at its end what the primary refuses after it was taken for handed over', async () => {
  answer = () => {
    throw new StoreUnavailable('no room');
  };
  for (const row of sampleRows(2)) ledger.record(row);
  expect(await ledger.close()).toBe(2);
  expect(await dropped()).toMatchObject({
    values: expect.arrayContaining([expect.objectContaining({ value: 2 })]),
  });
});
