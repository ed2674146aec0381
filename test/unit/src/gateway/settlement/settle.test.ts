import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { invalidField } from '../../../../../src/gateway/exchange/errors.ts';
import type { Exchange } from '../../../../../src/gateway/exchange/exchange.ts';
import type { LedgerRow } from '../../../../../src/gateway/settlement/ledger-entry.ts';
import { settle } from '../../../../../src/gateway/settlement/settle.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock, noon_ms } from '../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

let clock: FakeClock;
let captured: ReturnType<typeof capturedLog>;
let exchange: Exchange;
let registry: Registry;
let rows: LedgerRow[];

beforeEach(() => {
  clock = new FakeClock();
  captured = capturedLog();
  exchange = sampleExchange({ request: {}, model: {}, start: { clock, log: captured.log } });
  exchange.account = { id: 'acme', plan: undefined, key_id: 'key_1' };
  exchange.end.replied(200);
  registry = new Registry();
  rows = [];
});

const record = (row: LedgerRow) => void rows.push(row);

async function settled(metrics = new Metrics(registry), ledger = { record }) {
  const outcome = settle(exchange, { metrics, ledger, log_sample: 1 });
  expect([rows, captured.lines.filter(({ msg }) => /^POST /.test(msg))]).toEqual([[], []]);
  await setImmediate();
  return outcome;
}

it('has the key and the address of the client on its line in the log', async () => {
  await settled();
  expect(captured.lines.at(-1)).toMatchObject({
    account: 'acme',
    key_id: 'key_1',
    client_address: '192.0.2.7',
  });
});

describe('a fault while an exchange is settled', () => {
  const fault = new Error('a bug');
  const failing = (): never => {
    throw fault;
  };
  const faults = () =>
    captured.lines.filter(({ msg }) => msg === 'failed to finalize request').map(({ part }) => part);
  const requests = async () => (await registry.getSingleMetric('sluice_requests_total')!.get()).values;
  const logged = () => captured.lines.filter(({ msg }) => /^POST .* 200$/.test(msg)).length;

  it('in the metrics loses neither the ledger row nor the line in the log', async () => {
    const metrics = Object.assign(new Metrics(registry), { settled: failing });
    const outcome = await settled(metrics);
    expect([outcome.status, rows.length, logged(), faults()]).toEqual([200, 1, 1, ['metrics']]);
  });

  it('in the ledger loses neither the metrics nor the line in the log', async () => {
    await settled(undefined, { record: failing });
    expect(await requests()).toMatchObject([{ value: 1 }]);
    expect([logged(), faults()]).toEqual([1, ['ledger']]);
  });

  it('in the price keeps the tokens, with a cost of 0', async () => {
    Object.assign(exchange.usage, { prompt_tokens: 7, completion_tokens: 1.5, estimated: false });
    expect((await settled()).cost_usd).toBe('0');
    expect(rows).toMatchObject([{ prompt_tokens: 7, cost_usd: '0' }]);
    expect(await requests()).toMatchObject([{ value: 1 }]);
    expect([logged(), faults()]).toEqual([1, ['cost']]);
  });
});

describe('the ledger row of an exchange', () => {
  it('has its usage, times and key', async () => {
    clock.advance(100.4);
    exchange.first_token_ms = clock.elapsed_ms();
    clock.advance(900.3);
    const late = exchange.beginAttempt({ provider: 'b', model: 'x', wait_ms: 2.2 });
    late.ended('failed', 'timeout', 'the limit: first token');
    const answered = exchange.beginAttempt({ provider: 'a', model: 'y' });
    answered.status = 200;
    answered.ended('completed');
    exchange.end.errorSent({ type: 'provider_error', code: 'provider_broke_off' });
    Object.assign(exchange.usage, {
      prompt_tokens: 7,
      completion_tokens: 5,
      cached_tokens: 3,
      completion_details: { reasoning_tokens: 2 },
      estimated: false,
    });
    const { cost_usd } = await settled();
    const untimed = { offset_ms: 1001, wait_ms: 0, first_token_ms: null, duration_ms: 0 };
    const timeout = { kind: 'timeout', error_message: 'the limit: first token' };
    const nothing = { kind: null, error_message: null };
    expect(rows).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{8}-/),
        request_id: 'req_1',
        account: 'acme',
        key_id: 'key_1',
        model: exchange.model!.id,
        provider: 'a',
        endpoint: 'chat.completions',
        stream: false,
        trace_id: null,
        started_ms: noon_ms,
        duration_ms: 1001,
        first_token_ms: 100,
        status: 200,
        error_type: 'provider_error',
        requested_model: null,
        error_message: null,
        error_param: null,
        code: 'provider_broke_off',
        end_reason: 'upstream_failed',
        refused_by: null,
        attempts: 2,
        prompt_tokens: 7,
        completion_tokens: 5,
        cached_tokens: 3,
        cache_creation_tokens: 0,
        reasoning_tokens: 2,
        estimated: false,
        cost_usd,
        paid_usd: null,
        attempts_made: [
          { ...untimed, provider: 'b', model: 'x', wait_ms: 2, status: null, outcome: 'failed', ...timeout },
          { ...untimed, provider: 'a', model: 'y', status: 200, outcome: 'completed', ...nothing },
        ],
        stages: [],
      },
    ]);
    expect(Number(cost_usd)).toBeGreaterThan(0);
  });

  it('has empty fields where nothing is known', async () => {
    exchange.account = { id: 'acme', plan: undefined };
    exchange.model = undefined;
    await settled();
    expect(rows).toMatchObject([
      { key_id: null, model: null, provider: null, first_token_ms: null, reasoning_tokens: 0, cost_usd: '0' },
    ]);
  });

  it.each([
    [0, 0, false],
    [1, 0, true],
    [0, 1, true],
  ])(
    'counts as estimated where %i prompt and %i completion tokens are: %s',
    async (prompt, completion, estimated) => {
      const usage = { prompt_tokens: prompt, completion_tokens: completion, estimated: true };
      Object.assign(exchange.usage, usage);
      await settled();
      expect(rows).toMatchObject([{ estimated }]);
      expect(captured.lines).toMatchObject([{ estimated }]);
    },
  );

  it('has the reason that the client was told, as has the line in the log', async () => {
    exchange.requested_model = 'a-name';
    exchange.end.replied(400);
    exchange.end.errorSent(invalidField('temperature', 'is at most 2'));
    await settled();
    const reason = {
      requested_model: 'a-name',
      error_message: 'temperature: is at most 2',
      error_param: 'temperature',
    };
    expect(rows).toMatchObject([reason]);
    expect(captured.lines.at(-1)).toMatchObject({ ...reason, msg: expect.stringContaining('400') });
  });

  it('has at most 300 characters of a reason, and none of the prompt', async () => {
    const { content } = exchange.request.messages[0]!;
    exchange.request.messages = [{ role: 'user', content: `${content} ${content}` }];
    exchange.end.replied(400);
    exchange.end.errorSent(invalidField('messages', `cannot read ${content} ${content} ${'x'.repeat(400)}`));
    await settled();
    expect(rows[0]!.error_message).toMatch(/^messages: cannot read \[prompt\] x+$/);
    expect(rows[0]!.error_message).toHaveLength(300);
  });

  it('has no character that a database refuses, and with it the bill', async () => {
    exchange.requested_model = 'a\0name';
    exchange.end.errorSent(invalidField('\0', `is unknown: \0${'x'.repeat(283)}\u{1f600}`));
    await settled();
    const { error_message, error_param, requested_model } = rows[0]!;
    expect([error_param, requested_model]).toEqual(['\ufffd', 'a\ufffdname']);
    expect(error_message).toMatch(/^\ufffd: is unknown: \ufffdx+\ufffd$/);
  });

  it('is not written without an account', async () => {
    exchange.account = undefined;
    await settled();
    expect(rows).toEqual([]);
  });
});

describe('the own time of the gateway', () => {
  const observed_s = async () =>
    /^sluice_overhead_seconds_sum\S* (\S+)$/m.exec(
      await registry.getSingleMetricAsString('sluice_overhead_seconds'),
    )?.[1];

  const [received_ms, replied_ms] = [1000, 1600];
  it.each([
    ['without the wait for the upstream', { received_ms, replied_ms, upstream_wait_ms: 500 }, '0.1'],
    ['and is never negative', { received_ms, replied_ms, upstream_wait_ms: 700 }, '0'],
    ['and is not measured without a reply', { received_ms }, undefined],
    ['and is not measured without a body', { replied_ms }, undefined],
  ])('lasts from the body to the first byte of the reply, %s', async (_, known, expected) => {
    Object.assign(exchange, known);
    await settled();
    expect(await observed_s()).toBe(expected);
  });
});

describe('the log line of an exchange', () => {
  it('has its usage and whole milliseconds', async () => {
    const failed = exchange.beginAttempt({ provider: 'a', model: 'x', wait_ms: 7.4 });
    failed.status = 500;
    clock.advance(5.2);
    failed.ended('failed', 'status');
    exchange.end.errorSent({ type: 'rate_limit_error', code: 'rate_limited', limit: 'requests_per_minute' });
    exchange.first_token_ms = clock.elapsed_ms() + 10.4;
    exchange.upstream_wait_ms = 3.6;
    clock.advance(50.2);
    exchange.usage.completion_details = { reasoning_tokens: 2 };
    await settled();
    const attempt = { provider: 'a', model: 'x', status: 500 };
    expect(captured.lines).toMatchObject([
      {
        request_id: 'req_1',
        account: 'acme',
        stream: false,
        code: 'rate_limited',
        limit: 'requests_per_minute',
        upstream_status: 500,
        attempts: [{ ...attempt, outcome: 'failed', kind: 'status', wait_ms: 7, duration_ms: 5 }],
        duration_ms: 55,
        ttft_ms: 16,
        upstream_wait_ms: 4,
        reasoning_tokens: 2,
        msg: 'POST /v1/chat/completions 200',
      },
    ]);
  });

  it('omits what did not happen', async () => {
    await settled();
    expect(captured.lines[0]).toMatchObject({ attempts: [] });
    for (const field of ['ttft_ms', 'code', 'limit', 'upstream_status'])
      expect(captured.lines[0]).not.toHaveProperty(field);
  });
});

it.each<[string, object, string[], string]>([
  ['tokens alone', { prompt_tokens: 7 }, [], '0.50'],
  ['an answer without tokens', {}, ['failed', 'completed'], '0.50'],
  ['nothing', {}, ['completed', 'failed'], '0'],
])('bills the price of a call for %s', async (_, usage, outcomes, least) => {
  exchange.model = { ...exchange.model!, pricing: { prompt: '0', completion: '0', request: '0.5' } };
  Object.assign(exchange.usage, usage);
  exchange.attempts = outcomes.map(outcome => ({ outcome })) as never;
  expect(Number((await settled()).cost_usd)).toBe(Number(least));
});
