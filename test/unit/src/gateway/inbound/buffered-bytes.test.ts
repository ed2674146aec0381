import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { GatewayError } from '../../../../../src/gateway/exchange/errors.ts';
import type { Exchange } from '../../../../../src/gateway/exchange/exchange.ts';
import { BufferedBody, BufferedBytes } from '../../../../../src/gateway/inbound/buffered-bytes.ts';
import { BodyMetrics } from '../../../../../src/telemetry/body-metrics.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

function exchangeOf(account: string | undefined): Exchange {
  const exchange = sampleExchange();
  if (account !== undefined) exchange.account = { id: account, plan: undefined };
  return exchange;
}

/** Bodies of up to 100 units are small ones. */
const unit = 10_000;

function open(total = 100) {
  const registry = new Registry();
  const bytes = new BufferedBytes(
    { total_bytes: total * unit, account_bytes: 0.6 * total * unit },
    new BodyMetrics(registry),
  );
  const samplesOf = async (name: string) => (await registry.getSingleMetric(name)!.get()).values;
  const buffered = async () => (await samplesOf('sluice_buffered_request_bytes'))[0]!.value;
  const refusals = async () =>
    Object.fromEntries(
      (await samplesOf('sluice_buffer_refusals_total')).map(({ labels, value }) => [labels.bound, value]),
    );
  return { bytes, buffered, refusals };
}

function refusalOf(act: () => void): GatewayError {
  try {
    act();
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown;
  }
  throw new Error('it was not refused');
}

describe('the limit of buffered bytes', () => {
  it('rejects what exceeds the limit of one account, and leaves other accounts theirs', async () => {
    const { bytes, buffered, refusals } = open();
    const [one, second] = [
      new BufferedBody(bytes, exchangeOf('a')),
      new BufferedBody(bytes, exchangeOf('a')),
    ];
    one.add(40 * unit);
    const error = refusalOf(() => second.add(21 * unit));
    expect(error).toMatchObject({ status: 502, type: 'server_error', headers: { 'retry-after': '1' } });
    expect(error.message).not.toMatch(/bytes|buffer/);
    second.add(20 * unit);
    new BufferedBody(bytes, exchangeOf('b')).add(40 * unit);
    expect([await buffered(), await refusals()]).toEqual([100 * unit, { account: 1, total: 0 }]);
  });

  it('rejects what exceeds the limit of all accounts together', async () => {
    const { bytes, refusals } = open();
    new BufferedBody(bytes, exchangeOf('a')).add(60 * unit);
    new BufferedBody(bytes, exchangeOf('b')).add(30 * unit);
    const third = new BufferedBody(bytes, exchangeOf('c'));
    refusalOf(() => third.add(11 * unit));
    third.add(10 * unit);
    expect(await refusals()).toEqual({ account: 0, total: 1 });
  });

  it('rejects an announced body that would not fit, and counts nothing for one that would', async () => {
    const { bytes, buffered } = open();
    const body = new BufferedBody(bytes, exchangeOf('a'));
    refusalOf(() => body.expect(61 * unit));
    body.expect(60 * unit);
    expect(await buffered()).toBe(0);
  });

  it('counts requests without an account as one account', () => {
    const { bytes } = open();
    new BufferedBody(bytes, exchangeOf(undefined)).add(60 * unit);
    refusalOf(() => new BufferedBody(bytes, exchangeOf(undefined)).add(unit));
    new BufferedBody(bytes, exchangeOf('a')).add(unit);
  });

  it('rejects large bodies at three quarters, and serves small ones beside them to the last byte', async () => {
    const { bytes, refusals } = open(400);
    const large = new BufferedBody(bytes, exchangeOf('a'));
    refusalOf(() => large.expect(181 * unit));
    large.add(180 * unit);
    new BufferedBody(bytes, exchangeOf('a')).add(60 * unit);
    refusalOf(() => new BufferedBody(bytes, exchangeOf('b')).add(121 * unit));
    new BufferedBody(bytes, exchangeOf('b')).add(100 * unit);
    new BufferedBody(bytes, exchangeOf('c')).add(60 * unit);
    expect(await refusals()).toEqual({ account: 1, total: 1 });
  });

  it('rejects a body that has become a large one', () => {
    const { bytes } = open(400);
    const body = new BufferedBody(bytes, exchangeOf('a'));
    body.add(100 * unit);
    refusalOf(() => body.add(81 * unit));
  });

  it('is fully free again when all bodies are released, even several times', async () => {
    const { bytes, buffered } = open();
    for (let round = 0; round < 100; round++) {
      const bodies = ['a', 'b', undefined].map(account => new BufferedBody(bytes, exchangeOf(account)));
      for (const body of bodies) body.add(30 * unit);
      bodies[0]!.hold(20 * unit);
      refusalOf(() => bodies[1]!.add(31 * unit));
      for (const body of [...bodies, ...bodies]) body.release();
    }
    expect(await buffered()).toBe(0);
  });

  it('ends an exchange above it as refused, not as a gateway error', () => {
    const { bytes } = open();
    const exchange = exchangeOf('a');
    refusalOf(() => new BufferedBody(bytes, exchange).add(61 * unit));
    expect(exchange.end_reason).toBe('refused');
  });
});
