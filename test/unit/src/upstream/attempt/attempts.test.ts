import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { GatewayError } from '../../../../../src/errors.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import { Attempts } from '../../../../../src/upstream/attempt/attempts.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { closeRoutes, fill, open, pause, routeOver } from '../sample-route.ts';

afterEach(closeRoutes);

const limits = { stream_commit_ms: 10_000, non_stream_timeout_ms: 60_000 };

function attemptsOver(...asked: Parameters<typeof routeOver>) {
  const setting = routeOver(...asked);
  const exchange = sampleExchange({ request: {}, start: { clock: setting.clock } });
  const registry = new Registry();
  const attempts = new Attempts(exchange, setting.route, { metrics: new Metrics(registry), limits });
  const refusal = (): Promise<GatewayError> =>
    attempts.reply().then(
      () => Promise.reject(new Error('it was answered')),
      (error: GatewayError) => error,
    );
  return { ...setting, exchange, attempts, refusal, registry };
}

describe('a refusal because no upstream may be asked', () => {
  it.each([
    [3, 0, '3'],
    [3, 1900, '2'],
    [3, 2000, '1'],
    [3, 2999, '1'],
  ])(
    'tells with a Retry-After of %i s after %i ms to come back in %s s',
    async (given_s, passed_ms, told) => {
      const { a, b, clock, refusal, exchange } = attemptsOver([{}, {}], { when_all_unavailable: 'refuse' });
      pause(a, given_s, clock);
      pause(b, 60, clock);
      clock.advance(passed_ms);
      expect(await refusal()).toMatchObject({
        code: 'provider_unreachable',
        headers: { 'retry-after': told },
      });
      expect([exchange.end_reason, exchange.attempts]).toEqual(['refused', 0]);
    },
  );

  it('tells to come back in a second where it is not known when one may be', async () => {
    const { a, refusal } = attemptsOver([{}], { when_all_unavailable: 'refuse' });
    Object.defineProperty(a.provider, 'healthy', { value: false });
    expect(await refusal()).toMatchObject({
      code: 'provider_unreachable',
      headers: { 'retry-after': '1' },
    });
  });
});

it('refuses without Retry-After where all upstreams are full, and counts that', async () => {
  const { a, refusal, exchange, registry } = attemptsOver([{ provider: { max_concurrent: 1 } }]);
  fill(a);
  expect(await refusal()).toMatchObject({ type: 'server_error', headers: {} });
  expect(exchange.end_reason).toBe('refused');
  expect(await registry.metrics()).toContain(
    'sluice_overload_refusals_total{gen_ai_request_model="_other"} 1',
  );
});

it('takes no place where the exchange was given up before', async () => {
  const { a, attempts, refusal, exchange } = attemptsOver([{}]);
  open(a);
  exchange.abort('client_gone');
  attempts.cancel();
  expect(await refusal()).toMatchObject({ type: 'server_error' });
  expect([a.provider.bulkhead.in_flight, attempts.ended]).toEqual([0, true]);
});
