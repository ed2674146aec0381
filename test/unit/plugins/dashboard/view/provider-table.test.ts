import { expect, it } from '@jest/globals';
import { providerTable } from '../../../../../plugins/dashboard/view/provider-table.ts';
import type { AttemptSum } from '../../../../../src/records/traffic-records.ts';
import { duration_bounds_ms, first_token_bounds_ms } from '../../../../../src/records/traffic-records.ts';

const provider = {
  name: 'primary',
  healthy: true,
  breaker: { state: 'closed', share: 1, retry_in_ms: 0 },
  bulkhead: { hasPermit: true, in_flight: 0, queued: 0 },
  config: {},
};
const sum = (outcome: string, kind: string, attempts: number, took_ms: number): AttemptSum => ({
  provider: 'primary',
  // Kinds are added up over models.
  model: `of ${took_ms}`,
  outcome,
  kind,
  attempts,
  first_tokens: [...first_token_bounds_ms.map(bound_ms => (bound_ms === 100 ? attempts : 0)), 0],
  durations: [...duration_bounds_ms.map(bound_ms => (bound_ms === took_ms ? attempts : 0)), 0],
});

const cellsOf = (of: object, sums: readonly AttemptSum[] = []) =>
  [...providerTable([of as never], { since: 'hour', sums }).text.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(
    ([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '').replaceAll('\u00a0', ' '),
  );

it('shows failed attempts with their delay, and rates neither what the provider refused as a client’s error nor stale connections', () => {
  const sums = [
    sum('completed', '', 60, 500),
    sum('failed', 'timeout', 12, 30_000),
    sum('failed', 'timeout', 8, 60_000),
    sum('failed', 'refused', 20, 100),
    sum('failed', 'stale_connection', 9, 100),
  ];
  expect(cellsOf(provider, sums).slice(2)).toEqual([
    '80',
    '25 % 20 timeout, 20 refused, 9 stale_connection',
    '0.09 · 0.10 · 0.10 s',
    '0.36 · 39.6 · 55.9 s',
    '0',
  ]);
});

it('shows what operators have set beside how attempts go', () => {
  const control = { state: 'draining', weight: null, until_ms: null, reason: '<slow>' };
  const breaker = { state: 'open', share: 0, retry_in_ms: 4000 };
  const bulkhead = { hasPermit: false, in_flight: 7, queued: 2 };
  const cells = cellsOf({ ...provider, control, breaker, bulkhead, config: { max_concurrent: 7 } });
  expect(cells[1]).toBe('drained by operators  &lt;slow&gt;paused, retrying in 4 s');
  expect(cells.at(-1)).toBe('7 of 7, 2 waiting');
});
