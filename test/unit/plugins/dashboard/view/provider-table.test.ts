import { expect, it } from '@jest/globals';
import { providerTable } from '../../../../../plugins/dashboard/view/provider-table.ts';
import type { AttemptSum } from '../../../../../src/records/traffic-records.ts';
import { duration_bounds_ms } from '../../../../../src/records/traffic-records.ts';

const provider = {
  name: 'primary',
  healthy: true,
  breaker: { state: 'closed', share: 1, retry_in_ms: 0 },
  bulkhead: { hasPermit: true, in_flight: 0, queued: 0 },
  config: {},
};
const sum = (outcome: string, kind: string, attempts: number, took_ms: number): AttemptSum => ({
  provider: 'primary',
  model: 'one',
  first_tokens: [],
  outcome,
  kind,
  attempts,
  durations: [...duration_bounds_ms.map(bound_ms => (bound_ms === took_ms ? attempts : 0)), 0],
});

it('shows failed attempts with their delay, and rates neither what the provider refused as a client’s error nor stale connections', () => {
  const sums = [
    sum('completed', '', 60, 500),
    sum('failed', 'timeout', 20, 30_000),
    sum('failed', 'refused', 20, 100),
    sum('failed', 'stale_connection', 9, 100),
  ];
  const context = { settings: { providers: [] }, catalog: { models: [] } };
  const { text } = providerTable(context as never, [provider as never], { since: 'hour', sums });
  const cells = [...text.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
    cell.replaceAll(/<[^>]*>/g, '').replaceAll('\u00a0', ' '),
  );
  expect(cells.slice(2, 6)).toEqual([
    '75 % of 80',
    '20 timeout, 9 stale_connection',
    '20',
    '0.356 s · 25.9 s',
  ]);
});
