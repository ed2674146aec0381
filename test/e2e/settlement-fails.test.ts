import { afterEach, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { z } from 'zod';
import { defineStage } from '../../src/plugin.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { ledgerOf } from '../fixtures/stages/ledger.ts';
import { capturedLog } from '../support/captured-log.ts';
import { post } from '../support/chain-app.ts';
import { alongside, startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { ownStages } from '../support/settlement.ts';
import { until } from '../support/until.ts';

afterEach(closeMounted);

/** Where the span processor of the application throws for every span. */
let throwsIn: 'onStart' | 'onEnd' | undefined;
afterEach(() => {
  throwsIn = undefined;
});

/** A span processor of the application that throws for the span of an exchange. */
const processor: SpanProcessor = {
  onStart() {
    if (throwsIn === 'onStart') throw new Error('no room for spans');
  },
  onEnd(span) {
    if (throwsIn === 'onEnd') throw new Error('no room for spans');
    if (span.name === 'POST /v1/chat/completions') throw new Error('the disk is full');
  },
  forceFlush: async () => {},
  shutdown: async () => {},
};
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }));

it('releases the body and calls onSettled when a span processor of the application throws at the end', async () => {
  const upstream = alongside(await startScriptedUpstream(whole(200, completion('Hello.'))));
  const { log, lines } = capturedLog();
  const stages = ownStages(['ledger', { book: 'failing spans' }]);
  const gateway = await mountable(upstream, { stages }, { log });
  const app = await startApp(app => app.use(gateway));
  const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
  expect([reply.status, await reply.json()]).toMatchObject([200, { object: 'chat.completion' }]);
  await until(() => gateway.inFlight === 0);
  expect(ledgerOf('failing spans')).toMatchObject([{ outcome: { status: 200, end_reason: 'completed' } }]);
  const buffered = await gateway.registry.getSingleMetric('sluice_buffered_request_bytes')?.get();
  expect(buffered?.values).toMatchObject([{ value: 0 }]);
  expect(lines.filter(({ msg }) => msg === 'failed to finalize request')).toMatchObject([
    { err: { message: 'the disk is full' } },
  ]);
});

it.each([
  ['onStart', true],
  ['onEnd', true],
  ['onEnd', false],
] as const)(
  'answers in full and settles when a span processor throws in %s of every span (stream: %s)',
  async (hook, stream) => {
    const upstream = alongside(await startSimulator({ api_key: null }));
    const { log, lines } = capturedLog();
    const gateway = await mountable(upstream, {}, { log });
    const app = await startApp(app => app.use(gateway));
    throwsIn = hook;
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream }));
    expect([reply.status, await reply.text()]).toEqual([
      200,
      expect.stringMatching(stream ? /\[DONE\]/ : /"usage"/),
    ]);
    await until(() => gateway.inFlight === 0);
    const line = lines.find(({ msg }) => msg === 'POST /v1/chat/completions 200');
    expect(line).toMatchObject({ end_reason: 'completed', attempts: [{ outcome: 'completed' }] });
  },
);

it("gives back the account's place when what an exchange has used cannot be priced", async () => {
  const upstream = alongside(await startScriptedUpstream(whole(200, completion('Hello.'))));
  const { log, lines } = capturedLog();
  let isBroken = true;
  const breaking = defineStage({
    name: 'breaking',
    schema: z.strictObject({}),
    create: () => ({
      onReply(exchange, reply) {
        if (isBroken) (exchange.usage as { completion_tokens: number }).completion_tokens = Number.NaN;
        return reply;
      },
    }),
  });
  const plans = { one: { concurrent_requests: 1 } };
  const accounts = { tester: { plan: 'one', keys: [{ value: clientKey }] } };
  const stages = ['error-envelope', 'auth', 'rate-limit', breaking()];
  const gateway = await mountable(upstream, { plans, accounts }, { log, stages });
  const app = await startApp(app => app.use(gateway));
  expect((await post(`${app.url}/v1/chat/completions`, ask('Hello?'))).status).toBe(200);
  await until(() => gateway.inFlight === 0);
  expect(lines).toContainEqual(
    expect.objectContaining({
      part: 'cost',
      msg: 'failed to finalize request',
      request_id: expect.any(String),
    }),
  );
  const shown = await gateway.registry.metrics();
  expect(shown).toMatch(/^sluice_in_flight\{[^}]*\} 0$/m);
  expect(shown).toMatch(/^sluice_requests_total\{[^}]*status="200"[^}]*\} 1$/m);
  isBroken = false;
  expect((await post(`${app.url}/v1/chat/completions`, ask('Hello?'))).status).toBe(200);
});
