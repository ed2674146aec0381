import { beforeEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { RecordsMetrics } from '../../../../src/telemetry/records-metrics.ts';
import { StoreMetrics } from '../../../../src/telemetry/store-metrics.ts';

let registry: Registry;
beforeEach(() => {
  registry = new Registry();
});
const samples = async () => (await registry.metrics()).split('\n').filter(line => /^\w/.test(line));

it('counts the outages of the state store, as 0 before the first', async () => {
  const metrics = new StoreMetrics(registry);
  metrics.prepareOutages('state');
  expect(await samples()).toEqual(expect.arrayContaining(['sluice_store_outages_total{store="state"} 0']));
  metrics.breakerOpened('state');
  expect(await samples()).toContain('sluice_store_outages_total{store="state"} 1');
});

it('counts operations, settlements and exchanges decided without the store', async () => {
  const metrics = new StoreMetrics(registry);
  metrics.asked('state', 'exchange', 3);
  metrics.failed('state', 'exchange');
  metrics.decidedAlone('local');
  metrics.settlementsWaiting(4);
  metrics.instances(3);
  expect(await samples()).toEqual(
    expect.arrayContaining([
      'sluice_store_operation_duration_seconds_sum{store="state",operation="exchange"} 0.003',
      'sluice_store_errors_total{store="state",operation="exchange"} 1',
      'sluice_state_alone_total{policy="local"} 1',
      'sluice_state_settlements_waiting 4',
      'sluice_state_instances 3',
    ]),
  );
});

const up = (operation: string) => `sluice_store_up{store="records",operation="${operation}"}`;
const out = () => Promise.reject(new Error('out'));

it('shows each operation of the records store on its own, as available before the first', async () => {
  const metrics = new RecordsMetrics(registry);
  const operations = ['account_lookup', 'changes', 'key_lookup', 'key_uses', 'ledger_insert', 'past_usage'];
  expect(await samples()).toEqual(expect.arrayContaining(operations.map(operation => `${up(operation)} 1`)));
  await expect(metrics.timed('key_lookup', out)).rejects.toThrow('out');
  expect(await metrics.timed('changes', async () => 7)).toBe(7);
  expect(await samples()).toEqual(
    expect.arrayContaining([
      `${up('key_lookup')} 0`,
      `${up('changes')} 1`,
      'sluice_store_errors_total{store="records",operation="key_lookup"} 1',
    ]),
  );
  await metrics.timed('key_lookup', async () => 7);
  expect(await samples()).toContain(`${up('key_lookup')} 1`);
});

it('shows inserts of the ledger as its writer has them, whatever else succeeds', async () => {
  const metrics = new RecordsMetrics(registry);
  metrics.ledgerWrites(false);
  await metrics.timed('ledger_insert', async () => 1);
  await metrics.timed('changes', async () => 7);
  expect(await samples()).toContain(`${up('ledger_insert')} 0`);
  metrics.ledgerWrites(true);
  await expect(metrics.timed('ledger_insert', out)).rejects.toThrow('out');
  expect(await samples()).toContain(`${up('ledger_insert')} 1`);
});

it('counts rows of the ledger that wait, are written, lost and pruned', async () => {
  const metrics = new RecordsMetrics(registry);
  expect(await samples()).toContain('sluice_ledger_dropped_total{reason="lost"} 0');
  metrics.ledgerQueue(9, 'disk');
  metrics.ledgerWritten(3);
  metrics.ledgerDropped(2, 'lost');
  metrics.pruned(5, 'rows');
  expect(await samples()).toEqual(
    expect.arrayContaining([
      'sluice_ledger_queue_rows{place="disk"} 9',
      'sluice_ledger_rows_total 3',
      'sluice_ledger_dropped_total{reason="lost"} 2',
      'sluice_records_pruned_total{kind="rows"} 5',
    ]),
  );
});
