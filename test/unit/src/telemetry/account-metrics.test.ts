import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { AccountMetrics } from '../../../../src/telemetry/account-metrics.ts';

const usage = { prompt_tokens: 7, completion_tokens: 21, cached_tokens: 3, completion_details: undefined };
const timings = { duration_ms: 1, first_token_ms: undefined };
const end = {
  ...{ end_reason: 'completed', status: 200, error_type: undefined, account: 'acme', provider: 'a' },
  ...{ cost_usd: '0.0025', timings, usage: { ...usage, estimated: false } },
};
const metricsOn = (registry: Registry) => {
  const metrics = new AccountMetrics(registry);
  return {
    metrics,
    lines: async () => (await registry.metrics()).split('\n').filter(line => /^\w/.test(line)),
  };
};

it('counts requests, failures of the service, tokens and cost of an account', async () => {
  const { metrics, lines } = metricsOn(new Registry());
  metrics.settled({ ...end, account: undefined });
  expect(await lines()).toEqual([]);
  metrics.settled(end);
  metrics.settled({ ...end, end_reason: 'refused', status: 429, error_type: 'rate_limit_error' });
  metrics.settled({ ...end, end_reason: 'upstream_failed', error_type: 'provider_error' });
  expect(await lines()).toEqual([
    'sluice_account_requests_total{account="acme",status="200"} 2',
    'sluice_account_requests_total{account="acme",status="429"} 1',
    'sluice_account_failures_total{account="acme"} 1',
    'sluice_account_tokens_total{account="acme",kind="input"} 21',
    'sluice_account_tokens_total{account="acme",kind="output"} 63',
    'sluice_account_cost_usd_total{account="acme"} 0.0075',
  ]);
});

it('counts ten thousand accounts by name, and all others together', async () => {
  const { metrics, lines } = metricsOn(new Registry());
  for (let at = 0; at <= 10_001; at++) metrics.settled({ ...end, account: `a${at}` });
  metrics.settled({ ...end, account: 'a9999' });
  const failures = (await lines()).filter(line => line.startsWith('sluice_account_requests_total'));
  expect(failures.slice(-2)).toEqual([
    'sluice_account_requests_total{account="a9999",status="200"} 2',
    'sluice_account_requests_total{account="_other",status="200"} 2',
  ]);
});
