import { beforeEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { RecordsMetrics } from '../../../../src/telemetry/records-metrics.ts';
import { StoreMetrics } from '../../../../src/telemetry/store-metrics.ts';

let registry: Registry;
beforeEach(() => {
  registry = new Registry();
});
const samples = async () => (await registry.metrics()).split('\n').filter(line => /^\w/.test(line));

it('shows the state store as up or down with its circuit breaker, and outages as 0 before the first', async () => {
  const metrics = new StoreMetrics(registry);
  metrics.breakerClosed('state');
  expect(await samples()).toEqual(
    expect.arrayContaining([
      'sluice_store_up{store="state",operation="all"} 1',
      'sluice_store_outages_total{store="state"} 0',
      'sluice_state_settlements_dropped_total{reason="queue_full"} 0',
    ]),
  );
  metrics.breakerOpened('state');
  expect(await samples()).toEqual(
    expect.arrayContaining([
      'sluice_store_up{store="state",operation="all"} 0',
      'sluice_store_outages_total{store="state"} 1',
    ]),
  );
});

it('counts operations, settlements and exchanges decided without the store', async () => {
  const metrics = new StoreMetrics(registry);
  metrics.asked('state', 'reserve', 3);
  metrics.failed('state', 'reserve');
  metrics.decidedAlone('local');
  metrics.settlementsWaiting(4);
  metrics.settlementsDropped(2, 'too_late');
  metrics.instances(3);
  expect(await samples()).toEqual(
    expect.arrayContaining([
      'sluice_store_operation_duration_seconds_sum{store="state",operation="reserve"} 0.003',
      'sluice_store_errors_total{store="state",operation="reserve"} 1',
      'sluice_state_alone_total{policy="local"} 1',
      'sluice_state_settlements_waiting 4',
      'sluice_state_settlements_dropped_total{reason="too_late"} 2',
      'sluice_state_instances 3',
    ]),
  );
});

const reads = 'sluice_store_up{store="records",operation="read"}';
const outage = new Error('out');
const isOutage = (thrown: unknown) => thrown === outage;

it('counts a rejection by the records store as an answer, and an outage as none', async () => {
  const metrics = new RecordsMetrics(registry);
  expect(await metrics.timed('key_lookup', async () => 7, isOutage)).toBe(7);
  const refusal = new Error('refused');
  await expect(metrics.timed('changes', () => Promise.reject(refusal), isOutage)).rejects.toBe(refusal);
  expect(await samples()).toEqual(
    expect.arrayContaining([
      `${reads} 1`,
      'sluice_store_errors_total{store="records",operation="changes"} 1',
    ]),
  );
  await expect(metrics.timed('changes', () => Promise.reject(outage), isOutage)).rejects.toBe(outage);
  expect(await samples()).toContain(`${reads} 0`);
  await metrics.timed('key_lookup', async () => 7, isOutage);
  expect(await samples()).toContain(`${reads} 1`);
});

it('concludes nothing about reads from the inserts of the ledger', async () => {
  const metrics = new RecordsMetrics(registry);
  await expect(metrics.timed('ledger_insert', () => Promise.reject(outage), isOutage)).rejects.toBe(outage);
  metrics.ledgerWrites(false);
  expect(await samples()).toEqual(
    expect.arrayContaining([`${reads} 1`, 'sluice_store_up{store="records",operation="write_ledger"} 0']),
  );
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
