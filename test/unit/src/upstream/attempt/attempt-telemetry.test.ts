import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { Registry } from 'prom-client';
import { ClientMetrics } from '../../../../../src/telemetry/client-metrics.ts';
import { AttemptTelemetry } from '../../../../../src/upstream/attempt/attempt-telemetry.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { closeRoutes, routeOver } from '../sample-route.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
trace.setGlobalTracerProvider(provider);
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
beforeEach(() => exporter.reset());
afterEach(closeRoutes);
afterAll(() => provider.shutdown());

function setting(request: object = {}, content: object = {}) {
  const { a, clock } = routeOver([{}]);
  // A span cannot end before its beginning, which is the system's time.
  clock.set(Date.now() + 3_600_000 - clock.epoch_ms());
  Object.assign(a.provider.content, content);
  const exchange = sampleExchange({ request, start: { clock } });
  for (const model of ['x', 'y']) exchange.beginAttempt({ provider: 'a', model });
  const registry = new Registry();
  const span = new AttemptTelemetry(exchange, a, new ClientMetrics(registry));
  return { exchange, clock, span, registry };
}

const finished = () => exporter.getFinishedSpans();
const answer = (finish_reason: 'stop' | 'length', content = 'Yes.') => ({
  choices: [{ index: 0, message: { role: 'assistant' as const, content }, finish_reason }],
});

describe('the span of an attempt', () => {
  it('names the requested model and upstream, below the span of the exchange', () => {
    const { exchange, span } = setting({ max_tokens: 7, temperature: 0.5, stop: ['.'], n: 2, stream: true });
    span.ended(undefined);
    span.settled();
    const [ended] = finished();
    expect(ended).toMatchObject({ name: 'chat m', kind: SpanKind.CLIENT });
    expect(ended!.parentSpanContext?.spanId).toBe(exchange.span.spanContext().spanId);
    expect(ended!.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'vllm',
      'gen_ai.request.model': 'm',
      'sluice.provider': 'a',
      'sluice.attempt': 2,
      'gen_ai.request.stream': true,
      'server.address': '127.0.0.1',
      'server.port': 9,
      'gen_ai.request.max_tokens': 7,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.stop_sequences': ['.'],
      'gen_ai.request.choice.count': 2,
    });
  });

  it('passes its own trace to the upstream', () => {
    const { exchange, span } = setting();
    const { traceId, spanId } = exchange.span.spanContext();
    expect(span.headers.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(span.headers.traceparent).not.toContain(spanId);
  });

  it('has usage and all finish reasons once the exchange is settled', () => {
    const { exchange, span } = setting();
    span.reply({ choices: [...answer('stop').choices, ...answer('length').choices] });
    span.ended(undefined);
    expect(finished()).toHaveLength(0);
    Object.assign(exchange.usage, {
      prompt_tokens: 11,
      completion_tokens: 5,
      cached_tokens: 3,
      completion_details: { reasoning_tokens: 2 },
    });
    span.settled();
    expect(finished()[0]!.attributes).toMatchObject({
      'gen_ai.response.finish_reasons': ['stop', 'length'],
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.usage.reasoning.output_tokens': 2,
    });
    expect(finished()[0]!.attributes).not.toHaveProperty('gen_ai.response.time_to_first_chunk');
    expect(finished()[0]!.attributes).not.toHaveProperty('error.type');
  });

  it('has no finish reasons where none came, and no reasoning tokens where they are unknown', () => {
    const { span } = setting();
    span.ended('broken');
    span.settled();
    const { attributes, status } = finished()[0]!;
    expect(attributes).not.toHaveProperty('gen_ai.response.finish_reasons');
    expect(attributes).toMatchObject({ 'gen_ai.usage.reasoning.output_tokens': 0, 'error.type': 'broken' });
    expect(status.code).toBe(SpanStatusCode.ERROR);
  });

  it('measures the time to the first chunk of a stream, not to a later one or to none', () => {
    const { clock, span } = setting({ stream: true });
    clock.advance(100);
    span.chunks([]);
    clock.advance(150);
    span.chunks([{ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] }]);
    clock.advance(1000);
    span.chunks([{ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }]);
    span.ended(undefined);
    span.settled();
    expect(finished()[0]!.attributes).toMatchObject({
      'gen_ai.response.time_to_first_chunk': 0.25,
      'gen_ai.response.finish_reasons': ['stop'],
    });
  });

  it('ends with the attempt, however late the exchange is settled', () => {
    const { clock, span } = setting();
    const ended_epoch_ms = clock.epoch_ms();
    span.ended(undefined);
    clock.advance(60_000);
    span.settled();
    const [seconds, nanoseconds] = finished()[0]!.endTime;
    expect(seconds * 1000 + nanoseconds / 1e6).toBe(ended_epoch_ms);
  });

  it('has no usage when another attempt took its place', () => {
    const { clock, span } = setting({}, { capture_content: true, max_content_characters: 100 });
    span.reply(answer('stop'));
    const ended_epoch_ms = clock.epoch_ms();
    span.ended('timeout');
    clock.advance(60_000);
    span.superseded();
    const { attributes, endTime } = finished()[0]!;
    expect(attributes).not.toHaveProperty('gen_ai.usage.output_tokens');
    expect(attributes).toMatchObject({ 'error.type': 'timeout' });
    expect(attributes['gen_ai.output.messages']).toContain('Yes.');
    expect(endTime[0] * 1000 + endTime[1] / 1e6).toBe(ended_epoch_ms);
  });

  it('has the prompt and the answer only where that is configured', () => {
    for (const capture_content of [true, false]) {
      const { span } = setting({ stream: true }, { capture_content, max_content_characters: 100 });
      span.chunks([{ choices: [{ index: 0, delta: { content: 'Because.' }, finish_reason: null }] }]);
      span.ended(undefined);
      span.settled();
    }
    const [captured, plain] = finished().map(({ attributes }) => attributes);
    expect(captured!['gen_ai.input.messages']).toContain('Why do rivers bend?');
    expect(captured!['gen_ai.output.messages']).toContain('Because.');
    expect(plain).not.toHaveProperty('gen_ai.input.messages');
    expect(plain).not.toHaveProperty('gen_ai.output.messages');
  });
});

describe('the chunk times of an attempt', () => {
  it('are measured from sending for the first chunk and from the one before for others, also when chunks come together', async () => {
    const { clock, span, registry } = setting({ stream: true });
    const chunk = { choices: [] };
    const arrived = (after_ms: number, count: number) => {
      clock.advance(after_ms);
      span.chunks(Array(count).fill(chunk));
    };
    arrived(300, 0);
    arrived(200, 1);
    arrived(60, 0);
    arrived(30, 3);
    arrived(10, 1);
    const text = await registry.metrics();
    const labels =
      '{gen_ai_operation_name="chat",gen_ai_provider_name="",sluice_provider="a",gen_ai_request_model="_other"}';
    for (const [name, sum, count] of [
      ['time_to_first_chunk', 0.5, 1],
      ['time_per_output_chunk', 0.1, 4],
    ] as const) {
      const metric = `gen_ai_client_operation_${name}_seconds`;
      expect(text).toContain(`${metric}_count${labels} ${count}\n`);
      expect(Number(text.split(`${metric}_sum${labels} `)[1]!.split('\n')[0])).toBeCloseTo(sum, 9);
    }
  });
});
