import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { auth, defineStage, type GatewayOptions } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { chainOf, post, proxyTo } from '../support/chain-app.ts';
import { startApp } from '../support/express-app.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { closeMounted, mountable, mounted } from '../support/mounted-gateway.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  simulator = await startSimulator({ api_key: null });
  gateway = await startGateway({ upstream: simulator.url });
});
beforeEach(() => exporter.reset());
afterAll(async () => {
  await gateway.close();
  await simulator.close();
  await provider.shutdown();
});

const trace_id = '0af7651916cd43dd8448eb211c80319c';
const caller_id = 'b7ad6b7169203331';
const traced = { headers: { traceparent: `00-${trace_id}-${caller_id}-01` } };

const spansOf = (content: string, more: object = {}): Promise<ReadableSpan[]> =>
  spansOfRequest(ask(content, more), traced);

const spansOfRequest = (...request: Parameters<typeof gateway.post>) => spansAt(gateway, ...request);

async function spansAt(
  { post }: Pick<GatewayUnderTest, 'post'>,
  ...request: Parameters<typeof gateway.post>
): Promise<ReadableSpan[]> {
  await (await post(...request)).text();
  const isThere = () => exporter.getFinishedSpans().some(({ kind }) => kind === SpanKind.SERVER);
  for (const end_ms = Date.now() + 5000; !isThere() && Date.now() < end_ms; ) await setImmediate();
  return exporter.getFinishedSpans();
}

const named = (spans: readonly ReadableSpan[], name: string) => spans.find(span => span.name === name);
const server = 'POST /v1/chat/completions';

describe('the trace of an exchange', () => {
  it.each([true, false])(
    "continues its caller's, with a span for each stage and for the attempt (stream: %s)",
    async stream => {
      const spans = await spansOf('Hello', {
        stream,
        max_tokens: 50,
        temperature: 0.5,
        reasoning_effort: 'low',
      });
      const exchange = named(spans, server)!;
      expect(exchange.spanContext().traceId).toBe(trace_id);
      expect(exchange.parentSpanContext?.spanId).toBe(caller_id);
      expect(exchange.kind).toBe(SpanKind.SERVER);
      expect(exchange.attributes).toMatchObject({
        'http.response.status_code': 200,
        'sluice.end_reason': 'completed',
      });

      const below = spans.filter(span => span.parentSpanContext?.spanId === exchange.spanContext().spanId);
      expect([...new Set(below.map(({ name }) => name))].sort()).toEqual(
        [
          'chat aion-3.5',
          'stage auth',
          'stage rate-limit',
          'stage reasoning-split',
          'stage request-rewrite',
          ...(stream ? ['stage stream-rechunk'] : []),
          'stage validation',
        ].sort(),
      );
      const attempt = named(spans, 'chat aion-3.5')!;
      expect(attempt.kind).toBe(SpanKind.CLIENT);
      expect(attempt.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'vllm',
        'gen_ai.request.model': 'aion-3.5',
        ...(stream && { 'gen_ai.request.stream': true }),
        'gen_ai.request.max_tokens': 50,
        'gen_ai.request.temperature': 0.5,
        'gen_ai.request.reasoning.level': 'low',
        'server.address': '127.0.0.1',
        'server.port': simulator.port,
      });
      expect(attempt.attributes['gen_ai.usage.output_tokens']).toBeGreaterThan(0);
    },
  );

  it('names spans by the route: a response is a chat at its upstream', async () => {
    const asked = { model: 'aion-labs/aion-3.5', input: 'Hello' };
    const spans = await spansOfRequest(asked, { ...traced, path: '/v1/responses' });
    const exchange = named(spans, 'POST /v1/responses')!;
    expect(exchange.spanContext().traceId).toBe(trace_id);
    const attempt = named(spans, 'chat aion-3.5')!;
    expect(attempt.parentSpanContext?.spanId).toBe(exchange.spanContext().spanId);
    expect(attempt.attributes).toMatchObject({ 'gen_ai.operation.name': 'chat' });
  });

  it('has the operation and the usage of a call that is passed through', async () => {
    const upstream = await startScriptedUpstream(
      whole(200, { usage: { prompt_tokens: 4, total_tokens: 4 } }),
    );
    const path = '/v1/embeddings';
    const config = { passthrough: [{ path, provider: 'upstream' }] } as Partial<GatewayConfig>;
    const other = await startGateway({ upstream, config });
    try {
      const spans = await spansAt(
        other,
        { model: 'aion-labs/aion-3.5', input: 'Hello' },
        { ...traced, path },
      );
      const call = spans.find(({ kind }) => kind === SpanKind.CLIENT)!;
      expect(call.attributes).toMatchObject({
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.provider.name': 'vllm',
        'gen_ai.request.model': 'aion-labs/aion-3.5',
        'gen_ai.usage.input_tokens': 4,
        'server.port': upstream.port,
      });
    } finally {
      await other.close();
      await upstream.close();
    }
  });

  it('has a span for each attempt, and an event for each retry', async () => {
    const broken = await startScriptedUpstream(whole(503, {}));
    const other = await startGateway({ upstream: broken, others: [simulator] });
    const spans = await spansAt(other, ask('Hello'), traced);
    await other.close();
    await broken.close();
    const exchange = named(spans, server)!;
    const attempts = spans
      .filter(({ kind }) => kind === SpanKind.CLIENT)
      .sort((a, b) => Number(a.attributes['sluice.attempt']) - Number(b.attributes['sluice.attempt']))
      .map(({ attributes, status, parentSpanContext }) => [
        ...[attributes['sluice.provider'], attributes['error.type'], status.code === SpanStatusCode.ERROR],
        'gen_ai.usage.output_tokens' in attributes,
        parentSpanContext?.spanId === exchange.spanContext().spanId,
      ]);
    expect(attempts).toEqual([
      ['upstream', 'status', true, false, true],
      ['second', undefined, false, true, true],
    ]);
    expect(exchange.status.code).not.toBe(SpanStatusCode.ERROR);
    const retries = exchange.events.filter(({ name }) => name === 'retry');
    expect(retries.map(({ attributes }) => attributes?.['error.type'])).toEqual(['status']);
  });

  it('propagates to the upstream and contains no prompt or answer', async () => {
    const spans = await spansOf('a secret prompt');
    const attempt = named(spans, 'chat aion-3.5')!;
    const { traceparent } = simulator.requests.at(-1)!.headers;
    expect(traceparent).toBe(`00-${trace_id}-${attempt.spanContext().spanId}-01`);
    expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toContain(
      'secret',
    );
  });
});

describe('spans of what goes wrong', () => {
  const secret = 'sk-secret-of-a-stage';
  const faulty = defineStage({
    name: 'faulty',
    create: () => ({
      onHeaders({ headers }) {
        if (headers['x-case'] === 'throw') throw new TypeError(`the token ${secret} is bad`);
      },
      onRequest: ({ headers }) => (headers['x-case'] === 'nonsense' ? (secret as never) : undefined),
      onStream: ({ headers }) =>
        headers['x-case'] === 'stream' ? { transform: () => Promise.reject(new Error(secret)) } : undefined,
      onError: (_exchange, error) => error,
      async onSettled() {
        await setImmediate();
      },
    }),
  });
  let app: Awaited<ReturnType<typeof mounted>>;
  beforeAll(async () => {
    app = await mounted(simulator, undefined, {}, { stages: ['auth', faulty(), 'validation'] });
  });
  afterAll(closeMounted);

  /** The spans of one exchange with a mounted gateway that has the stage. */
  const spansOfCase = (what: string, content = 'Hello', more: object = {}) =>
    spansAt({ post: body => post(app.chat, body, { 'x-case': what }) }, ask(content, more));

  const hookOf = (spans: readonly ReadableSpan[], name: string, hook: string) =>
    spans.find(span => span.name === `stage ${name}` && span.attributes['sluice.hook'] === hook)!;

  it('says of a refusal its type, and calls neither the exchange nor its stage failed', async () => {
    const spans = await spansAt(gateway, ask('Hello'), { headers: { authorization: 'Bearer sk-wrong' } });
    const [exchange, stage] = [named(spans, server)!, hookOf(spans, 'auth', 'onHeaders')];
    for (const { status, attributes, events } of [exchange, stage]) {
      expect(status.code).toBe(SpanStatusCode.UNSET);
      expect(attributes['error.type']).toBe('authentication_error');
      expect(events).toEqual([]);
    }
    expect(exchange.attributes['http.response.status_code']).toBe(401);
  });

  it.each([
    ['throw', 'onHeaders', 'TypeError'],
    ['nonsense', 'onRequest', 'HookResultError'],
    ['stream', 'onStream', 'Error'],
  ])("shows the place of a stage's own fault, and no word of its message (%s)", async (what, hook, type) => {
    const spans = await spansOfCase(what, 'Hello', { stream: what === 'stream' });
    const failed = spans.filter(span => span.name === 'stage faulty' && span.events.length > 0);
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'sluice.hook': hook, 'error.type': 'server_error' },
      events: [{ name: 'exception', attributes: { 'exception.type': type } }],
    });
    expect(failed[0]!.events[0]!.attributes!['exception.stacktrace']).toContain('.ts:');
    expect(named(spans, server)).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'server_error', 'sluice.end_reason': 'internal_error' },
    });
    expect(
      JSON.stringify(spans.map(({ attributes, events, status }) => [attributes, events, status])),
    ).not.toContain(secret);
  });

  it('has the hooks that run at the end below the exchange, whose span outlasts those that are waited for', async () => {
    await spansOfCase('throw');
    const settled = () => hookOf(exporter.getFinishedSpans(), 'faulty', 'onSettled');
    await until(() => settled() !== undefined);
    const spans = exporter.getFinishedSpans();
    const exchange = named(spans, server)!;
    const told = hookOf(spans, 'faulty', 'onError');
    for (const span of [told, settled()])
      expect(span.parentSpanContext?.spanId).toBe(exchange.spanContext().spanId);
    const end_ms = ({ endTime: [s, ns] }: ReadableSpan) => s * 1000 + ns / 1e6;
    expect(end_ms(exchange)).toBeGreaterThanOrEqual(end_ms(told));
  });

  it('has no status when the client left before one was sent, and has not failed', async () => {
    const leaving = new AbortController();
    const asked = gateway.post(ask('Hello [[sim:ttft=60000]]', { stream: true }), { signal: leaving.signal });
    await until(() => gateway.gateway.inFlight === 1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await until(() => named(exporter.getFinishedSpans(), server) !== undefined);
    const exchange = named(exporter.getFinishedSpans(), server)!;
    expect(exchange.attributes['sluice.end_reason']).toBe('client_gone');
    expect(exchange.attributes).not.toHaveProperty(['http.response.status_code']);
    expect(exchange.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('names the field at fault of a refused request, and is no error', async () => {
    const spans = await spansOf('Hello', { temperature: 'hot' });
    const exchange = named(spans, server)!;
    expect(exchange.attributes).toMatchObject({
      'sluice.error_param': 'temperature',
      'sluice.end_reason': 'refused',
    });
    expect(exchange.status.code).toBe(SpanStatusCode.UNSET);
  });
});

/** An application that traces its requests itself, and a request to it. */
async function exchange(options: GatewayOptions = {}) {
  const { chat } = await mounted(
    simulator,
    app =>
      app.use((_request, response, next) => {
        const span = trace.getTracer('application').startSpan('the application');
        response.on('close', () => span.end());
        context.with(trace.setSpan(context.active(), span), next);
      }),
    {},
    options,
  );
  await (await post(chat, ask('What is the secret?', { stream: true }))).text();
  const named = (name: string) => exporter.getFinishedSpans().find(span => span.name === name);
  await until(
    () => named('POST /v1/chat/completions') !== undefined && named('the application') !== undefined,
    10_000,
  );
  return named;
}

describe('a trace through a mounted gateway', () => {
  afterEach(closeMounted);

  it("places the span of an exchange below the application's own span", async () => {
    const named = await exchange();
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
      const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' };
      const url = `${app.url}/tenants/acme/llm/v1/chat/completions?key=secret`;
      await (await post(url, ask('Hello.'), headers)).text();
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
    await (await post(`${app.url}/v1/chat/completions`, ask('Hello.', { stream: true }))).text();
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
    const named = await exchange({
      stages: ['auth', own(), 'validation', 'rate-limit', 'request-rewrite'],
    });
    const parent = named('POST /v1/chat/completions')!.spanContext();
    const query = named('a query')!;
    expect([query.spanContext().traceId, query.parentSpanContext?.spanId]).toEqual([
      parent.traceId,
      parent.spanId,
    ]);
  });
});
