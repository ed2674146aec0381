import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { GatewayError } from '../../../../../../src/gateway/exchange/errors.ts';
import { Attempt } from '../../../../../../src/gateway/upstream/attempt/attempt.ts';
import { AttemptStream } from '../../../../../../src/gateway/upstream/attempt/attempt-stream.ts';
import type { UpstreamCall } from '../../../../../../src/gateway/upstream/http/upstream-call.ts';
import { AttemptPermit } from '../../../../../../src/gateway/upstream/routing/attempt-permit.ts';
import { Metrics } from '../../../../../../src/telemetry/metrics.ts';
import { failuresOf } from '../../../../../support/failover-setting.ts';
import {
  head,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  thenReset,
  whole,
} from '../../../../../support/scripted-upstream.ts';
import { chunkOf } from '../../../../chunk-stream.ts';
import { sampleExchange } from '../../../../sample-exchange.ts';
import { closeRoutes, routeOver } from '../sample-route.ts';

const answer = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1 },
};
const silent: Script = () => {};

let server: ScriptedUpstream;
beforeEach(async () => {
  server = await startScriptedUpstream(whole(200, answer));
});
afterEach(async () => {
  await closeRoutes();
  await server.close();
});

function setting(provider: object = {}) {
  const { a, clock } = routeOver([{ provider: { base_url: server.url, ...provider } }]);
  const exchange = sampleExchange({ request: {}, start: { clock } });
  const registry = new Registry();
  const permit = AttemptPermit.acquire(a, exchange.request, clock.elapsed_ms());
  const attempt = new Attempt(exchange, permit, new Metrics(registry));
  const errors = async (kind: string) => {
    const { values } = await registry.getSingleMetric('sluice_upstream_errors_total')!.get();
    return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
  };
  const refusal = () =>
    attempt.reply().then(
      () => Promise.reject(new Error('it was answered')),
      (error: GatewayError) => error,
    );
  return { a, clock, exchange, registry, attempt, errors, refusal, bulkhead: a.provider.bulkhead };
}

/** Resolves when the upstream has the request. */
async function received(): Promise<void> {
  while (server.requests.length === 0) await new Promise(resolve => setImmediate(resolve));
}

describe('an attempt', () => {
  it('resolves with the decoded reply, releases its permit and reports its latency', async () => {
    const { a, clock, attempt, exchange, bulkhead } = setting();
    expect(await attempt.reply()).toMatchObject({ choices: [{ message: { content: 'Yes.' } }] });
    expect([attempt.sent, attempt.failure, bulkhead.in_flight]).toEqual([true, undefined, 0]);
    expect(a.latency_ms(false, clock.elapsed_ms())).toBe(0);
    expect(failuresOf(exchange)).toEqual([]);
  });

  it.each([200, 500])('counts the wait for its upstream once, which answers %i', async status => {
    const { attempt, clock, exchange } = setting();
    server.reply(socket => {
      clock.advance(250);
      socket.write(whole(status, answer));
    });
    await attempt.reply().catch(() => {});
    clock.advance(1000);
    attempt.cancel();
    expect(exchange.upstream_wait_ms).toBe(250);
  });

  it('measures from sending for the first chunk and from the one before for others, also when chunks come together', async () => {
    const { attempt, clock, registry } = setting();
    server.reply(silent);
    const sink = { chunk() {}, flush: () => true, end() {}, fail() {} };
    const begun = attempt.fill(new AttemptStream(sink, { begin() {}, drained() {}, cancel() {} }, 8));
    const says = chunkOf({ content: 'word' });
    for (const [after_ms, chunks] of [
      [500, [says]],
      [90, [says, says, says]],
      [10, [says]],
    ] as const) {
      clock.advance(after_ms);
      attempt.give(chunks);
    }
    await begun;
    attempt.cancel();
    const text = await registry.metrics();
    for (const [name, sum, count] of [
      ['time_to_first_chunk', 0.5, 1],
      ['time_per_output_chunk', 0.1, 4],
    ] as const) {
      const found = (what: string) =>
        Number(new RegExp(`client_operation_${name}_seconds_${what}{.*} (.*)`).exec(text)?.[1]);
      expect(found('count')).toBe(count);
      expect(found('sum')).toBeCloseTo(sum, 9);
    }
  });

  it('fails with the error of its upstream, counts it, and releases its permit', async () => {
    server.reply(whole(500, {}));
    const { attempt, exchange, refusal, errors, bulkhead } = setting();
    expect(await refusal()).toMatchObject({ type: 'provider_error' });
    expect(attempt.failure?.kind).toBe('status');
    expect(exchange.attempts).toMatchObject([
      { provider: 'a', model: expect.any(String), status: 500, outcome: 'failed', kind: 'status' },
    ]);
    expect([await errors('status'), bulkhead.in_flight, attempt.generated]).toEqual([1, 0, false]);
  });

  it('has generated output when its reply broke off or was too large, but not without a body', async () => {
    server.replyOnce(thenReset(`${head(200, { 'content-length': 100 })}{"cho`));
    const broken = setting();
    await broken.refusal();
    expect([broken.attempt.failure?.kind, broken.attempt.generated]).toEqual(['broken', true]);
    server.replyOnce(whole(200, 'x'.repeat(101)));
    const large = setting({ max_reply_bytes: 100 });
    await large.refusal();
    expect([large.attempt.failure?.kind, large.attempt.generated]).toEqual(['invalid', true]);
    server.replyOnce(thenReset(head(200, { 'content-length': 100 })));
    const empty = setting();
    await empty.refusal();
    expect([empty.attempt.failure?.kind, empty.attempt.generated]).toEqual(['broken', false]);
  });

  it('times out after total_timeout_ms and closes its connection', async () => {
    server.reply(silent);
    const { attempt, refusal } = setting({ total_timeout_ms: 50 });
    expect(await refusal()).toMatchObject({ code: 'provider_timeout' });
    expect(attempt.failure?.kind).toBe('timeout');
    expect(await server.last.closed).toBe('gateway');
  });

  it('sends nothing for an exchange that was aborted before', async () => {
    const { attempt, exchange, refusal, bulkhead } = setting();
    exchange.abort('client_gone');
    expect(await refusal()).toMatchObject({ type: 'server_error' });
    expect([attempt.sent, attempt.failure, bulkhead.in_flight]).toEqual([false, undefined, 0]);
    expect(server.requests).toEqual([]);
  });

  it.each(['abort of the exchange', 'cancel'])('ends without a failure by %s', async how => {
    server.reply(silent);
    const { attempt, exchange, refusal, errors, bulkhead } = setting();
    const refused = refusal();
    await received();
    if (how === 'cancel') attempt.cancel();
    else exchange.abort('client_gone');
    await refused;
    expect(await server.last.closed).toBe('gateway');
    expect([attempt.failure, failuresOf(exchange), bulkhead.in_flight]).toEqual([undefined, [], 0]);
    expect(await errors('aborted')).toBe(1);
  });

  it('fails as unhealthy before the first byte of its reply', async () => {
    server.reply(silent);
    const { attempt, refusal } = setting();
    const refused = refusal();
    await received();
    attempt.unhealthy();
    expect(await refused).toMatchObject({ code: 'provider_unhealthy' });
    expect(attempt.failure?.kind).toBe('unhealthy');
  });

  it('stays on an unhealthy upstream once its reply has begun', async () => {
    let end = () => {};
    const text = JSON.stringify(answer);
    server.reply(socket => {
      socket.write(`${head(200, { 'content-length': text.length })}${text.slice(0, 9)}`);
      end = () => socket.write(text.slice(9));
    });
    const { a, attempt } = setting();
    const { provider } = a;
    const send = provider.send.bind(provider);
    let call: UpstreamCall | undefined;
    Object.assign(provider, { send: (...sent: Parameters<typeof send>) => (call = send(...sent)) });
    const reply = attempt.reply();
    while (!call?.hasBody) await new Promise(resolve => setImmediate(resolve));
    attempt.unhealthy();
    end();
    expect(await reply).toMatchObject({ choices: [{ message: { content: 'Yes.' } }] });
  });
});
