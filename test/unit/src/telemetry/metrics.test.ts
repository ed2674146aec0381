import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { MeasuredEnd, MeasuredUsage } from '../../../../src/telemetry/measured.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';

const model = 'aion-labs/aion-3.5';
const exchange = {
  endpoint: { name: 'chat.completions', public: false },
  model: { id: model },
  trace_id: undefined,
};

let registry: Registry;
let metrics: Metrics;
beforeEach(() => {
  registry = new Registry();
  metrics = new Metrics(registry);
});

/** The end of an exchange of 2.1 seconds whose first token came after 100 ms. */
function endOf(usage: Partial<MeasuredUsage> = {}, more: Partial<MeasuredEnd> = {}): MeasuredEnd {
  return {
    end_reason: 'completed',
    status: 200,
    error_type: undefined,
    account: 'acme',
    provider: 'a',
    usage: {
      prompt_tokens: 7,
      completion_tokens: 21,
      cached_tokens: 0,
      completion_details: undefined,
      estimated: false,
      ...usage,
    },
    cost_usd: '0.0025',
    timings: { duration_ms: 2100, first_token_ms: 100 },
    ...more,
  };
}

/** The samples of a metric, by name and labels as they are written. */
async function samples(name: string): Promise<Record<string, number>> {
  const lines = (await registry.getSingleMetricAsString(name)).split('\n');
  const parts = lines.filter(line => line.startsWith(name)).map(line => /^(.*) (\S+)$/.exec(line)!);
  return Object.fromEntries(parts.map(([, sample, value]) => [sample!.slice(name.length), Number(value)]));
}

const labels = `gen_ai_operation_name="",gen_ai_provider_name="",gen_ai_request_model="${model}"`;
const ofModel = `{${labels}}`;

describe('the time per output token', () => {
  const name = 'gen_ai_server_time_per_output_token_seconds';

  it('is the time after the first token divided by the tokens that followed it', async () => {
    metrics.begun(exchange);
    metrics.settled(exchange, endOf());
    expect(await samples(name)).toMatchObject({ [`_sum${ofModel}`]: 0.1, [`_count${ofModel}`]: 1 });
  });

  it.each([
    ['of one token', endOf({ completion_tokens: 1 })],
    ['without tokens', endOf({ completion_tokens: 0 })],
    ['that is not a stream', endOf({}, { timings: { duration_ms: 2100, first_token_ms: undefined } })],
  ])('is not measured for an answer %s', async (_, end) => {
    metrics.settled(exchange, end);
    expect(await samples(name)).toEqual({});
  });
});

it('measures the time to the first token and to the end in seconds', async () => {
  metrics.settled(exchange, endOf({}, { error_type: 'provider_error' }));
  expect(await samples('gen_ai_server_time_to_first_token_seconds')).toMatchObject({
    [`_sum${ofModel}`]: 0.1,
  });
  expect(await samples('gen_ai_server_request_duration_seconds')).toMatchObject({
    [`_sum{${labels},error_type="provider_error"}`]: 2.1,
  });
});

it('counts an exchange as in flight until it has ended', async () => {
  metrics.begun(exchange);
  metrics.begun(exchange);
  metrics.settled(exchange, endOf());
  expect(await samples('sluice_in_flight')).toEqual({ '{endpoint="chat.completions"}': 1 });
});

it('counts exchanges with public endpoints, and does not time them', async () => {
  const listed = { ...exchange, model: undefined, endpoint: { name: 'models', public: true } };
  metrics.settled(listed, endOf());
  expect(Object.keys(await samples('sluice_requests_total'))).toEqual([
    expect.stringContaining('endpoint="models",gen_ai_request_model="_other"'),
  ]);
  for (const name of ['gen_ai_server_request_duration_seconds', 'sluice_tokens_total'])
    expect(await samples(name)).toEqual({});
});

it('counts billable tokens by kind and by source of the count, and their cost', async () => {
  metrics.settled(exchange, endOf({ cached_tokens: 3, completion_details: { reasoning_tokens: 5 } }));
  metrics.settled(exchange, endOf({ estimated: true, prompt_tokens: 0 }));
  const series = (kind: string, source: string) =>
    `{gen_ai_request_model="${model}",kind="${kind}",source="${source}"}`;
  expect(await samples('sluice_tokens_total')).toEqual({
    [series('input', 'exact')]: 7,
    [series('cached', 'exact')]: 3,
    [series('output', 'exact')]: 21,
    [series('reasoning', 'exact')]: 5,
    [series('output', 'estimated')]: 21,
  });
  expect(await samples('sluice_cost_usd_total')).toEqual({
    '{gen_ai_request_model="aion-labs/aion-3.5"}': 0.005,
  });
});

it('counts by account only when that is enabled, even when enabled twice', async () => {
  metrics.settled(exchange, endOf());
  expect(await registry.metrics()).not.toContain('acme');
  metrics.countAccounts();
  metrics.countAccounts();
  metrics.settled(exchange, endOf());
  expect(await registry.metrics()).toContain('account="acme"');
});

it('shows the refusals of a stage as 0 before the first', async () => {
  metrics.prepareStage('mine', ['onReply']);
  const series = '{stage="mine",hook="onReply",error_type="server_error"}';
  expect(await samples('sluice_stage_refusals_total')).toEqual({ [series]: 0 });
  metrics.stageRefused('mine', 'onReply', 'server_error');
  expect(await samples('sluice_stage_refusals_total')).toEqual({ [series]: 1 });
});

it('counts in the same series for all gateways that share a registry', async () => {
  for (const gateway of [metrics, new Metrics(registry), new Metrics(new Registry())]) {
    gateway.begun(exchange);
    gateway.backgroundReads(1);
  }
  expect(await samples('sluice_in_flight')).toEqual({ '{endpoint="chat.completions"}': 2 });
  expect(await samples('sluice_background_reads')).toEqual({ '': 2 });
});

it('shows when the running configuration was accepted', async () => {
  metrics.configLoaded(1_795_000_000_500);
  expect(await samples('sluice_config_loaded_timestamp_seconds')).toEqual({ '': 1_795_000_000.5 });
});

it('tells an overhead of 120 ms from one of 900 ms, and one of 4 s from one of 8 s', async () => {
  for (const own_ms of [120, 900, 4000, 8000]) metrics.overhead(exchange, own_ms);
  const counts = await samples('sluice_overhead_seconds');
  const upTo = ['0.1', '0.15', '0.5', '1', '5', '10'].map(
    le => counts[`_bucket{le="${le}",endpoint="chat.completions"}`],
  );
  expect(upTo).toEqual([0, 1, 1, 2, 3, 4]);
});

describe('the series of requests', () => {
  const name = 'sluice_requests_total';
  const endpoints = ['chat.completions', 'responses'];

  it('exist at 0 for the common failures of every model, so that the first failure is an increase', async () => {
    metrics.prepareRequests(endpoints, [model]);
    const broken = 'status="200",end_reason="upstream_failed",error_type="provider_error"';
    const prepared = await samples(name);
    for (const endpoint of endpoints)
      for (const id of [model, '_other'])
        expect(prepared[`{endpoint="${endpoint}",gen_ai_request_model="${id}",${broken}}`]).toBe(0);
    expect(await samples('sluice_overload_refusals_total')).toEqual({
      [`{gen_ai_request_model="${model}"}`]: 0,
    });
  });

  it('are at most 2000 before the first request, the more common ends first', async () => {
    const models = Array.from({ length: 300 }, (_, at) => `vendor/model-${at}`);
    metrics.prepareRequests(endpoints, models);
    const prepared = Object.keys(await samples(name));
    expect(prepared).toHaveLength(2000);
    const having = (part: string) => prepared.filter(labels => labels.includes(part)).length;
    expect(having('status="200",end_reason="upstream_failed"')).toBe(2 * 301);
    expect(having('time_limit')).toBe(0);
  });
});

it('tells by endpoint and field which requests were refused for a field of theirs', async () => {
  const refused = { end_reason: 'refused', status: 400, error_type: 'invalid_request_error' };
  for (const error_param of [
    'messages[2].content',
    'messages',
    'metadata.x',
    'x-reasoning-placement',
    '\n"',
    undefined,
  ])
    metrics.settled(exchange, endOf({}, { ...refused, error_param }));
  metrics.settled(exchange, endOf());
  const field = (name: string) => `{endpoint="chat.completions",field="${name}"}`;
  expect(await samples('sluice_invalid_fields_total')).toEqual({
    [field('messages')]: 2,
    [field('metadata')]: 1,
    [field('x-reasoning-placement')]: 1,
    [field('other')]: 1,
  });
});
