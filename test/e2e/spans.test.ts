import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  trace.setGlobalTracerProvider(provider);
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
  { post }: GatewayUnderTest,
  ...request: Parameters<typeof gateway.post>
): Promise<ReadableSpan[]> {
  await (await post(...request)).text();
  const isThere = () => exporter.getFinishedSpans().some(({ kind }) => kind === SpanKind.SERVER);
  for (const end_ms = Date.now() + 5000; !isThere() && Date.now() < end_ms; ) await new Promise(setImmediate);
  return exporter.getFinishedSpans();
}

const named = (spans: readonly ReadableSpan[], name: string) => spans.find(span => span.name === name);
const server = 'POST /v1/chat/completions';

describe('the trace of an exchange', () => {
  it.each([true, false])(
    "continues its caller's, with a span for each stage and for the attempt (stream: %s)",
    async stream => {
      const spans = await spansOf('Hello', { stream, max_tokens: 50, temperature: 0.5 });
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
        'gen_ai.request.stream': stream,
        'gen_ai.request.max_tokens': 50,
        'gen_ai.request.temperature': 0.5,
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

  it('propagates to the upstream and contains no prompt or answer', async () => {
    const spans = await spansOf('a secret prompt');
    const attempt = named(spans, 'chat aion-3.5')!;
    const { traceparent } = simulator.requests.at(-1)!.headers;
    expect(traceparent).toBe(`00-${trace_id}-${attempt.spanContext().spanId}-01`);
    expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toContain(
      'secret',
    );
  });

  it('marks the failed spans', async () => {
    const spans = await spansOf('Hello [[sim:status=503]]');
    expect(named(spans, server)).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'provider_error', 'http.response.status_code': 502 },
    });
    expect(named(spans, 'chat aion-3.5')).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'status' },
    });
  });
});
