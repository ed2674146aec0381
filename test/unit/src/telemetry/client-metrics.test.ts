import { beforeEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { AccountMetrics } from '../../../../src/telemetry/account-metrics.ts';
import { ClientMetrics } from '../../../../src/telemetry/client-metrics.ts';
import { openMetricsOf } from '../../../../src/telemetry/open-metrics.ts';

let registry: Registry;
let metrics: ClientMetrics;
beforeEach(() => {
  registry = new Registry();
  metrics = new ClientMetrics(registry);
  metrics.prepare('a', 'vllm', ['timeout']);
});

const exchange = {
  endpoint: { name: 'chat.completions', public: false },
  model: { id: 'a/one' },
  operation: 'embeddings',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
};
const labels =
  'gen_ai_operation_name="embeddings",gen_ai_provider_name="vllm",sluice_provider="a",gen_ai_request_model="a/one"';

it('measures attempts in seconds, counts them from 0, and failed ones by kind', async () => {
  expect(await registry.metrics()).toContain(
    'sluice_upstream_attempts_total{sluice_provider="a",status="529"} 0\n',
  );
  metrics.attempted(exchange, 'a', 2500, undefined, 200);
  metrics.attempted(exchange, 'a', 1500, 'timeout', undefined);
  for (const status of [500, 503, 529, 529, 999]) metrics.attempted(exchange, 'a', 0, 'status', status);
  const text = await registry.metrics();
  expect(text).toContain(`gen_ai_client_operation_duration_seconds_sum{${labels},error_type=""} 2.5\n`);
  expect(text).toContain(
    `gen_ai_client_operation_duration_seconds_sum{${labels},error_type="timeout"} 1.5\n`,
  );
  expect(text.match(/^sluice_upstream_errors_total.*$/gm)).toEqual([
    'sluice_upstream_errors_total{sluice_provider="a",kind="timeout"} 1',
    'sluice_upstream_errors_total{sluice_provider="a",kind="status"} 5',
  ]);
  const counted = text.matchAll(
    /^sluice_upstream_attempts_total\{sluice_provider="a",status="(\w*)"\} ([1-9])/gm,
  );
  expect(Object.fromEntries([...counted].map(([, status, count]) => [status, count]))).toEqual({
    '': '1',
    200: '1',
    500: '1',
    503: '1',
    529: '2',
    other: '1',
  });
});

it('shows the failures of a provider as 0 before the first', async () => {
  metrics.prepare('b', 'openai', ['status']);
  expect((await registry.metrics()).match(/^sluice_upstream_errors_total.* 0$/gm)).toHaveLength(2);
});

it('measures billable tokens in buckets of powers of four', async () => {
  metrics.used(exchange, 'a', 16, 17);
  const bucket = (type: string, le: number) =>
    `gen_ai_client_token_usage_bucket{le="${le}",${labels},gen_ai_token_type="${type}"}`;
  const text = await registry.metrics();
  for (const line of [
    `${bucket('input', 4)} 0`,
    `${bucket('input', 16)} 1`,
    `${bucket('output', 16)} 0`,
    `${bucket('output', 64)} 1`,
  ])
    expect(text).toContain(`${line}\n`);
});

it('tells 400 s from 600 s for an attempt, and 1 ms from 3 ms for a chunk, with their traces', async () => {
  metrics.attempted(exchange, 'a', 400_000, undefined, 200);
  metrics.firstChunk(exchange, 'a', 500);
  metrics.chunkTime(exchange, 'a').observe(0.002);
  const text = await registry.metrics();
  const bucket = (name: string, le: number, more = '') =>
    `gen_ai_client_operation_${name}_seconds_bucket{le="${le}",${labels}${more}}`;
  for (const line of [
    `${bucket('duration', 327.68, ',error_type=""')} 0`,
    `${bucket('duration', 600, ',error_type=""')} 1`,
    `${bucket('time_per_output_chunk', 0.001)} 0`,
    `${bucket('time_per_output_chunk', 0.0025)} 1`,
    `${bucket('time_to_first_chunk', 0.32)} 0`,
    `${bucket('time_to_first_chunk', 0.64)} 1`,
  ])
    expect(text).toContain(`${line}\n`);
  expect((await openMetricsOf(registry)).split(`trace_id="${exchange.trace_id}"`)).toHaveLength(3);
});

it('counts at most ten thousand accounts separately', async () => {
  const accounts = new AccountMetrics(registry);
  const end = (account: string | undefined) => ({
    end_reason: 'completed',
    status: 200,
    error_type: undefined,
    account,
    provider: 'a',
    usage: {
      prompt_tokens: 2,
      completion_tokens: 3,
      cached_tokens: 0,
      completion_details: undefined,
      estimated: false,
    },
    cost_usd: '0.5',
    timings: { duration_ms: 1, first_token_ms: undefined },
  });
  accounts.settled(end(undefined));
  for (let at = 0; at < 10_002; at++) accounts.settled(end(`account-${at}`));
  accounts.settled(end('account-0'));
  const failing = { ...end('account-0'), status: 201 };
  accounts.settled({ ...failing, end_reason: 'upstream_failed' });
  accounts.settled({ ...failing, end_reason: 'refused', error_type: 'server_error' });
  accounts.settled({ ...failing, end_reason: 'refused', error_type: 'rate_limit_error' });
  const text = await registry.metrics();
  expect(text.match(/^sluice_account_cost_usd_total\{/gm)).toHaveLength(10_001);
  for (const line of [
    'sluice_account_requests_total{account="account-0",status="200"} 2',
    'sluice_account_requests_total{account="account-9999",status="200"} 1',
    'sluice_account_requests_total{account="_other",status="200"} 2',
    'sluice_account_failures_total{account="account-0"} 2',
    'sluice_account_failures_total{account="account-1"} 0',
    'sluice_account_tokens_total{account="_other",kind="input"} 4',
    'sluice_account_tokens_total{account="_other",kind="output"} 6',
    'sluice_account_cost_usd_total{account="_other"} 1',
  ])
    expect(text).toContain(`${line}\n`);
});
