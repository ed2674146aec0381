import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { INVALID_SPAN_CONTEXT, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import {
  endSpan,
  recordStageSpan,
  startChildSpan,
  startServerSpan,
  traceHeaders,
  traceIdOf,
} from '../../../../src/telemetry/tracing.ts';

const exporter = new InMemorySpanExporter();
const never = { shouldSample: () => ({ decision: 0 }), toString: () => 'never' };
const always = { shouldSample: () => ({ decision: 2 }), toString: () => 'always' };
const provider = new TracerProvider({
  sampler: new ParentBasedSampler({ root: always, remoteParentNotSampled: never }),
  spanProcessors: [new SimpleSpanProcessor({ exporter })],
});
trace.setGlobalTracerProvider(provider);
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
beforeEach(() => exporter.reset());
afterAll(() => provider.shutdown());

const request = { id: 'req_1', method: 'POST', path: '/v1/x?key=secret', route: '/v1/x' };
const trace_id = '0af7651916cd43dd8448eb211c80319c';
const caller = (flags: '00' | '01') => ({ traceparent: `00-${trace_id}-b7ad6b7169203331-${flags}` });
const finished = () => exporter.getFinishedSpans();

describe('the span of an exchange', () => {
  it('is named by its route and is a child of the span of the caller', () => {
    endSpan(startServerSpan(request, caller('01')), undefined);
    expect(finished()[0]).toMatchObject({ name: 'POST /v1/x', kind: SpanKind.SERVER });
    expect(finished()[0]!.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(finished()[0]!.attributes).toMatchObject({ 'http.route': '/v1/x', 'sluice.request_id': 'req_1' });
  });

  it('is named by its method alone when its path is no route, and keeps at most 512 characters of the path', () => {
    endSpan(startServerSpan({ ...request, path: 'x'.repeat(1000), route: undefined }, {}), undefined);
    expect(finished()[0]!.name).toBe('POST');
    expect(finished()[0]!.attributes['url.path']).toHaveLength(512);
  });

  it('has failed when there is an error type, and only then', () => {
    endSpan(startServerSpan(request, {}), 'server_error');
    endSpan(startServerSpan(request, {}), undefined);
    expect(finished().map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.UNSET]);
    expect(finished()[0]!.attributes['error.type']).toBe('server_error');
  });

  it('gives its trace id to logs and exemplars only when it is recorded', () => {
    expect(traceIdOf(startServerSpan(request, caller('01')))).toBe(trace_id);
    expect(traceIdOf(startServerSpan(request, caller('00')))).toBeUndefined();
  });
});

describe('the span of a stage', () => {
  it('has the start and end times of its hook', () => {
    const start_ms = 1_795_000_000_000;
    const parent = startServerSpan(request, {});
    recordStageSpan(parent, {
      stage: 'auth',
      hook: 'onHeaders',
      start_ms,
      end_ms: start_ms + 2,
      own_ms: 1.5,
    });
    const [stage] = finished();
    expect(stage).toMatchObject({
      name: 'stage auth',
      startTime: [start_ms / 1000, 0],
      endTime: [start_ms / 1000, 2e6],
    });
    expect(stage!.attributes).toEqual({
      'sluice.stage': 'auth',
      'sluice.hook': 'onHeaders',
      'sluice.own_ms': 1.5,
    });
    expect(stage!.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
  });

  it('is not created below a span that is not recorded', () => {
    const parent = startServerSpan(request, caller('00'));
    recordStageSpan(parent, { stage: 'auth', hook: 'onHeaders', start_ms: 1, end_ms: 2, own_ms: 1 });
    expect(finished()).toEqual([]);
  });
});

describe('a child span', () => {
  it('is its parent itself when that is not recorded', () => {
    const parent = startServerSpan(request, caller('00'));
    expect(startChildSpan(parent, 'chat', SpanKind.CLIENT, {})).toBe(parent);
  });

  it('is its parent itself when that belongs to no trace', () => {
    const none = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
    expect(startChildSpan(none, 'chat', SpanKind.CLIENT, {})).toBe(none);
    expect(traceHeaders(none)).toEqual({});
  });

  it('passes the trace on to the upstream, even when it is not sampled', () => {
    for (const flags of ['00', '01'] as const) {
      const child = startChildSpan(startServerSpan(request, caller(flags)), 'chat', SpanKind.CLIENT, {});
      expect(traceHeaders(child).traceparent).toBe(`00-${trace_id}-${child.spanContext().spanId}-${flags}`);
    }
  });
});
