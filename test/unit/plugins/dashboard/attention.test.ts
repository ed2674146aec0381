import { expect, it } from '@jest/globals';
import type { Registry } from 'prom-client';
import { attention } from '../../../../plugins/dashboard/attention.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const clock = new FakeClock();
const day_s = 86_400;
const provider = (name: string, more: object = {}) => ({
  name,
  config: {},
  control: undefined,
  healthy: true,
  breaker: { state: 'closed', share: 1, retry_in_ms: 0 },
  bulkhead: { in_flight: 0, queued: 0, hasPermit: true },
  ...more,
});

interface Facts {
  readonly conditions?: readonly string[];
  readonly providers?: readonly ReturnType<typeof provider>[];
  /** Values of metrics, with what has them. */
  readonly metrics?: readonly (readonly [name: string, label: string, of: string, value: number])[];
}

/** The lines of the part: their texts, and where each leads. */
async function linesOf({ conditions = [], providers = [], metrics = [] }: Facts): Promise<string[]> {
  const values = (name: string) =>
    metrics
      .filter(([metric]) => metric === name)
      .map(([, label, of, value]) => ({ labels: { [label]: of }, value }));
  const registry = { getSingleMetric: (name: string) => ({ get: async () => ({ values: values(name) }) }) };
  const context = {
    clock,
    providers,
    state: { outage: undefined },
    server: {
      registry: async () => registry as unknown as Registry,
      all: async () => ({ in_flight: 0, ready: true, conditions, providers }),
    },
  };
  const { text } = await attention(context as never, true);
  const lines = text.match(/<li .*?<\/li>/gs) ?? [text];
  return lines.map(line => {
    const [, target] = /href="([^"]*)">[^<]*<\/a><\/li>/.exec(line) ?? [];
    return [line.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' '), target].filter(Boolean).join(' → ');
  });
}

it('is one quiet line while all is well', async () => {
  const [line, ...others] = await linesOf({
    conditions: ['2 of 2 workers are ready'],
    providers: [provider('fine')],
    metrics: [
      [
        'sluice_upstream_certificate_expiry_timestamp_seconds',
        'sluice_provider',
        'fine',
        clock.epoch_ms() / 1000 + 15 * day_s,
      ],
      ['sluice_ledger_oldest_row_age_seconds', 'none', '', 59],
    ],
  });
  expect(line).toMatch(/^Nothing needs attention: /);
  expect(others).toEqual([]);
});

it('names stores, workers, providers and certificates that need somebody, each with where that is dealt with', async () => {
  const now_s = clock.epoch_ms() / 1000;
  const lines = await linesOf({
    conditions: ['1 of 2 workers are ready', 'the state store has been down for 9 s: ECONNREFUSED'],
    providers: [
      provider('fine'),
      provider('ill', { healthy: false }),
      provider('open', { breaker: { state: 'open', share: 0, retry_in_ms: 4000 } }),
      provider('full', { bulkhead: { in_flight: 1, queued: 3, hasPermit: false } }),
    ],
    metrics: [
      ['sluice_upstream_certificate_expiry_timestamp_seconds', 'sluice_provider', 'fine', now_s + 13 * day_s],
      ['sluice_listener_certificate_expiry_timestamp_seconds', 'listener', 'public', now_s - 60],
    ],
  });
  expect(lines).toEqual([
    '1 of 2 workers are ready Requests that failed here → requests?since=quarter&amp;end=gateway_failed',
    'the state store has been down for 9 s: ECONNREFUSED Requests that failed here → requests?since=quarter&amp;end=gateway_failed',
    'ill health check fails Pause, drain or resume → provider?name=ill',
    'open paused, retrying in 4 s Pause, drain or resume → provider?name=open',
    'full at its concurrency limit Pause, drain or resume → provider?name=full',
    'fine certificate ends 2026-12-04 12:00 Provider → provider?name=fine',
    'The public listener certificate ended 2026-11-21 11:59 Put a new one in place of its file: it is read by itself.',
  ]);
});

it('says how far the ledger is behind, unless a store says why', async () => {
  const metrics = [
    ['sluice_ledger_oldest_row_age_seconds', 'none', '', 90],
    ['sluice_ledger_queue_rows', 'place', 'disk', 1200],
  ] as const;
  const [line] = await linesOf({ metrics });
  expect(line).toMatch(/^the ledger is behind: 1 200 rows, the oldest for 90 s /);
  expect(await linesOf({ metrics, conditions: ['ledger writes have failed for 90 s'] })).toHaveLength(1);
});
