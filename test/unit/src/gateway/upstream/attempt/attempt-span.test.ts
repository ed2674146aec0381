import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { AttemptSpan } from '../../../../../../src/gateway/upstream/attempt/attempt-span.ts';
import { epochOf } from '../../../../../../src/telemetry/tracing.ts';
import { sampleExchange } from '../../../../sample-exchange.ts';
import { closeRoutes, routeOver } from '../sample-route.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
trace.setGlobalTracerProvider(provider);
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
beforeEach(() => exporter.reset());
afterEach(closeRoutes);
afterAll(() => provider.shutdown());

function setting(request: object = {}, content: object = {}, operation = 'chat') {
  const { a, clock } = routeOver([{}]);
  Object.assign(a.provider.content, content);
  const exchange = sampleExchange({ request, start: { clock } });
  exchange.operation = operation;
  const [, attempt] = ['x', 'y'].map(model => exchange.beginAttempt({ provider: 'a', model, wait_ms: 30 }));
  const span = AttemptSpan.of(exchange, a, attempt!)!;
  const end = (kind?: string) => {
    attempt!.ended(kind ? 'failed' : 'completed', kind);
    span.ended();
  };
  const settled = (kind?: string) => {
    end(kind);
    span.settled();
    return finished().at(-1)!.attributes;
  };
  return { exchange, span, end, settled, adapter: a.provider.adapter };
}

const finished = () => exporter.getFinishedSpans();
const answer = (finish_reason: 'stop' | 'length', index = 0, content = 'Yes.') => ({
  choices: [{ index, message: { role: 'assistant' as const, content }, finish_reason }],
});

describe('the span of an attempt', () => {
  it('is named after what is asked for', () => {
    const attributes = setting({ max_tokens: 0 }, {}, 'embeddings').settled();
    expect(finished()[0]!.name).toBe('embeddings m');
    expect(attributes['gen_ai.operation.name']).toBe('embeddings');
    expect(attributes['gen_ai.request.max_tokens']).toBeUndefined();
  });

  it('names the requested model and upstream, below the span of the exchange', () => {
    const parameters = {
      ...{ top_p: 0.9, frequency_penalty: 0.1, presence_penalty: -0.1, seed: 42 },
      response_format: { type: 'json_schema', json_schema: { name: 'secret' } },
    };
    const fields = { max_tokens: 7, temperature: 0.5, stop: ['.'], n: 2, stream: true, parameters };
    const { exchange, settled } = setting(fields);
    Object.assign(exchange.attempts.at(-1)!, { status: 200 });
    const attributes = settled();
    const [ended] = finished();
    expect(ended).toMatchObject({ name: 'chat m', kind: SpanKind.CLIENT });
    expect(ended!.parentSpanContext?.spanId).toBe(exchange.span.spanContext().spanId);
    expect(attributes).toMatchObject({
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
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.frequency_penalty': 0.1,
      'gen_ai.request.presence_penalty': -0.1,
      'gen_ai.request.seed': 42,
      'gen_ai.output.type': 'json',
      'http.response.status_code': 200,
      'sluice.wait_ms': 30,
    });
  });

  it('leaves out what was not asked for, and what is the default', () => {
    const parameters = { seed: 'x', response_format: { type: 'other' } };
    const names = Object.keys(setting({ n: 1, parameters }).settled());
    expect(names.filter(name => /request|output|response|status/.test(name))).toEqual([
      'gen_ai.request.model',
      'gen_ai.usage.output_tokens',
    ]);
  });

  it.each([
    ['of OpenAI', '{"id":"chatcmpl-1","model":"m-2026","choices":[]}'],
    ['of Anthropic', '{"type":"message_start","message":{"id":"chatcmpl-1","model":"m-2026"}}'],
  ])('has the id and the model of a stream %s, though its first events have none', (_whose, begin) => {
    const { span, settled } = setting({ stream: true });
    const decoder = span.decoderOf({ decode: () => [], complete: true });
    for (const data of [': comment', '{"id":"","model":""}', begin, '{"id":"later","model":"later"}'])
      decoder.decode({ data, event: undefined });
    expect([decoder.complete, decoder.done]).toEqual([true, false]);
    expect(settled()).toMatchObject({
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.model': 'm-2026',
    });
  });

  it('has the id and the model of a whole reply, cut where an upstream made them long', () => {
    const { span, adapter, settled } = setting();
    span.adapterOf(adapter).decodeReply({ ...answer('stop'), id: 'x'.repeat(1000), model: 7 });
    const attributes = settled();
    expect(attributes['gen_ai.response.id']).toBe('x'.repeat(128));
    expect(attributes).not.toHaveProperty(['gen_ai.response.model']);
  });

  it('passes its own trace to the upstream', () => {
    const { exchange, span } = setting();
    const { traceId, spanId } = exchange.span.spanContext();
    expect(span.headers.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(span.headers.traceparent).not.toContain(spanId);
  });

  it('has usage and all finish reasons once the exchange is settled', () => {
    const { exchange, span, end } = setting({ n: 2 });
    span.reply({ choices: [...answer('length', 1).choices, ...answer('stop').choices] });
    end();
    expect(finished()).toHaveLength(0);
    Object.assign(exchange.usage, {
      prompt_tokens: 11,
      completion_tokens: 5,
      cached_tokens: 3,
      completion_details: { reasoning_tokens: 2 },
    });
    span.settled();
    const { attributes } = finished()[0]!;
    expect(attributes).toMatchObject({
      'gen_ai.response.finish_reasons': ['stop', 'length'],
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.usage.reasoning.output_tokens': 2,
    });
    expect(attributes).not.toHaveProperty(['gen_ai.response.time_to_first_chunk']);
    expect(attributes).not.toHaveProperty(['error.type']);
  });

  it('has no finish reasons where none came, and no reasoning tokens where they are unknown', () => {
    const attributes = setting().settled('broken');
    expect(attributes).not.toHaveProperty(['gen_ai.response.finish_reasons']);
    expect(attributes).not.toHaveProperty(['gen_ai.usage.reasoning.output_tokens']);
    expect(attributes).toMatchObject({ 'error.type': 'broken' });
    expect(finished()[0]!.status.code).toBe(SpanStatusCode.ERROR);
  });

  it('has the finish reason error for a choice that did not come to its end', () => {
    const { span, settled } = setting({ stream: true, n: 2 });
    const delta = { content: 'a' };
    span.chunks([{ choices: [{ index: 1, delta, finish_reason: 'stop' }] }], 1);
    span.chunks([{ choices: [{ index: 60_000, delta, finish_reason: 'stop' }] }], 1);
    expect(settled('broken')['gen_ai.response.finish_reasons']).toEqual(['error', 'stop']);
  });

  it('has the time to the first chunk of a stream', () => {
    const { span, settled } = setting({ stream: true });
    span.chunks([{ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] }], 250);
    span.chunks([{ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }], 250);
    expect(settled()).toMatchObject({
      'gen_ai.response.time_to_first_chunk': 0.25,
      'gen_ai.response.finish_reasons': ['stop'],
    });
  });

  it('has no usage when another attempt took its place', () => {
    const { span, end } = setting({}, { capture_content: true, max_content_characters: 100 });
    span.reply(answer('stop'));
    end('timeout');
    const ended_epoch_ms = epochOf(performance.now());
    span.superseded();
    const [{ attributes, endTime }] = finished() as [ReadableSpan];
    expect(attributes).not.toHaveProperty(['gen_ai.usage.output_tokens']);
    expect(attributes).toMatchObject({ 'error.type': 'timeout' });
    expect(attributes['gen_ai.output.messages']).toContain('Yes.');
    expect(endTime[0] * 1000 + endTime[1] / 1e6).toBeLessThanOrEqual(ended_epoch_ms);
  });

  it('has the prompt and the answer only where that is configured', () => {
    const [captured, plain] = [true, false].map(capture_content => {
      const { span, settled } = setting({ stream: true }, { capture_content, max_content_characters: 100 });
      span.chunks([{ choices: [{ index: 0, delta: { content: 'Because.' }, finish_reason: null }] }], 1);
      return settled();
    });
    expect(captured!['gen_ai.input.messages']).toContain('Why do rivers bend?');
    expect(captured!['gen_ai.output.messages']).toContain('Because.');
    expect(plain).not.toHaveProperty(['gen_ai.input.messages']);
    expect(plain).not.toHaveProperty(['gen_ai.output.messages']);
  });
});
