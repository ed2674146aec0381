import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { auth, defineStage, type GatewayOptions } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { chainOf, proxyTo } from '../support/chain-app.ts';
import { startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { closeMounted, mountable, mounted } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
let simulator: Simulator;

beforeAll(async () => {
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  simulator = await startSimulator({ api_key: null });
});
afterEach(async () => {
  await closeMounted();
  exporter.reset();
});
afterAll(async () => {
  await simulator.close();
  await provider.shutdown();
});

/** An application that traces its requests itself, and a request to it. */
async function exchange(sections: object, options: GatewayOptions = {}) {
  const { chat } = await mounted(
    simulator,
    app =>
      app.use((_request, response, next) => {
        const span = trace.getTracer('application').startSpan('the application');
        response.on('close', () => span.end());
        context.with(trace.setSpan(context.active(), span), next);
      }),
    sections,
    options,
  );
  const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify(ask('What is the secret?', { stream: true }));
  await (await fetch(chat, { method: 'POST', headers, body })).text();
  const named = (name: string) => exporter.getFinishedSpans().find(span => span.name === name);
  await until(
    () => named('POST /v1/chat/completions') !== undefined && named('the application') !== undefined,
    10_000,
  );
  return named;
}

describe('a trace through a mounted gateway', () => {
  it("places the span of an exchange below the application's own span", async () => {
    const named = await exchange({});
    const parent = named('the application')!.spanContext();
    const own = named('POST /v1/chat/completions')!;
    expect([own.spanContext().traceId, own.parentSpanContext?.spanId]).toEqual([
      parent.traceId,
      parent.spanId,
    ]);
    expect(own.kind).toBe(SpanKind.INTERNAL);
    const attempt = named('chat aion-3.5')!;
    expect(attempt.parentSpanContext?.spanId).toBe(own.spanContext().spanId);
    expect(attempt.attributes).not.toHaveProperty(['gen_ai.input.messages']);
  });

  it.each(['a gateway', 'a chain'])(
    'names %s by its route, and has the whole path and what the application knows of its proxies',
    async which => {
      const app = await startApp(async express => {
        express.set('trust proxy', true);
        const handler = which === 'a gateway' ? await mountable(simulator) : chainOf();
        express.use('/tenants/:tenant/llm/', handler, proxyTo(simulator));
      });
      const headers = {
        authorization: `Bearer ${clientKey}`,
        'content-type': 'application/json',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '203.0.113.9',
      };
      const url = `${app.url}/tenants/acme/llm/v1/chat/completions?key=secret`;
      await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(ask('Hello.')) })).text();
      const own = () => exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.SERVER);
      await until(() => own().length > 0, 10_000);
      expect(own().map(({ name }) => name)).toEqual(['POST /v1/chat/completions']);
      expect(own()[0]!.attributes).toMatchObject({
        'http.route': '/v1/chat/completions',
        'url.path': '/tenants/acme/llm/v1/chat/completions',
        'url.scheme': 'https',
        'client.address': '203.0.113.9',
        'http.response.status_code': 200,
        'sluice.account': 'tester',
      });
      expect(JSON.stringify(exporter.getFinishedSpans().map(span => span.attributes))).not.toContain(
        'secret',
      );
    },
  );

  it('has one span for all chains before a handler, which outlasts the stages of each', async () => {
    const settled = (name: string) => defineStage({ name, create: () => ({ onSettled: () => {} }) })();
    const app = await startApp(express =>
      express.use(chainOf([auth(), settled('outer')]), chainOf([settled('inner')]), proxyTo(simulator)),
    );
    const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify(ask('Hello.', { stream: true }));
    await (await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    const spans = () => exporter.getFinishedSpans();
    await until(() => spans().some(({ kind }) => kind === SpanKind.SERVER), 10_000);
    expect(spans().map(({ name }) => name)).toEqual([
      'stage auth',
      ...['stage inner', 'stage outer'].sort(
        (a, b) => spans().findIndex(({ name }) => name === a) - spans().findIndex(({ name }) => name === b),
      ),
      'POST /v1/chat/completions',
    ]);
    const own = spans().at(-1)!.spanContext().spanId;
    expect(
      spans()
        .slice(0, -1)
        .map(({ parentSpanContext }) => parentSpanContext?.spanId),
    ).toEqual([own, own, own]);
  });

  it('has the spans that a stage opens below that of the exchange', async () => {
    const tracer = trace.getTracer('a library');
    const own = defineStage({
      name: 'own',
      create: () => ({
        async onRequest() {
          await setImmediate();
          tracer.startSpan('a query').end();
        },
      }),
    });
    const named = await exchange(
      {},
      { stages: ['auth', own(), 'validation', 'rate-limit', 'request-rewrite'] },
    );
    const parent = named('POST /v1/chat/completions')!.spanContext();
    const query = named('a query')!;
    expect([query.spanContext().traceId, query.parentSpanContext?.spanId]).toEqual([
      parent.traceId,
      parent.spanId,
    ]);
  });

  it("puts prompt and answer on the attempt's span when enabled, cut to the allowed length", async () => {
    const named = await exchange({ tracing: { capture_content: true, max_content_characters: 60 } });
    const { attributes } = named('chat aion-3.5')!;
    expect(JSON.parse(String(attributes['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'What is the secret?' }] },
    ]);
    const [answer] = JSON.parse(String(attributes['gen_ai.output.messages']));
    expect(answer).toMatchObject({ role: 'assistant', finish_reason: 'stop' });
    expect(answer.parts.map(({ content }: { content: string }) => content).join('')).toMatch(/^.{60}…$/);
  });
});
