import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  context,
  INVALID_SPAN_CONTEXT,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { version } from '../../../../src/common/version.ts';
import { startServerSpan as started, type TracedMessage } from '../../../../src/telemetry/server-span.ts';
import {
  endSpan,
  epochOf,
  exceptionAttributes,
  isRecorded,
  markEvent,
  recordStageSpan,
  startChildSpan,
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
propagation.setGlobalPropagator(
  new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
beforeEach(() => exporter.reset());
afterAll(() => provider.shutdown());

const request = { id: 'req_1', method: 'POST', url_path: '/llm/v1/x', route: '/v1/x' };
const incoming = (headers: TracedMessage['headers'], more: object = {}) =>
  ({ headers, httpVersion: '1.1', socket: { remoteAddress: '192.0.2.7' }, ...more }) as TracedMessage;
const startServerSpan = (
  asked: typeof request | object,
  headers: TracedMessage['headers'],
  more: object = {},
) => started({ ...request, ...asked }, incoming(headers, more));
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
    endSpan(startServerSpan({ url_path: 'x'.repeat(1000), route: undefined }, {}), undefined);
    expect(finished()[0]!.name).toBe('POST');
    expect(finished()[0]!.attributes['url.path']).toHaveLength(512);
  });

  it('describes the request by the stable HTTP conventions', () => {
    const headers = { host: 'llm.example.com:8443', 'user-agent': 'a'.repeat(1000) };
    startServerSpan({}, headers, { protocol: 'https', ip: '203.0.113.9' }).end();
    const { attributes, instrumentationScope } = finished()[0]!;
    expect(attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/x',
      'url.path': '/llm/v1/x',
      'url.scheme': 'https',
      'server.address': 'llm.example.com',
      'server.port': 8443,
      'client.address': '203.0.113.9',
      'network.protocol.version': '1.1',
      'user_agent.original': 'a'.repeat(256),
      'sluice.request_id': 'req_1',
    });
    expect(instrumentationScope).toEqual({
      name: 'sluice',
      version,
      schemaUrl: expect.stringMatching(/^https:\/\/opentelemetry\.io\/schemas\/1\.\d+\.0$/),
    });
  });

  it.each([
    ['example.com', { 'server.address': 'example.com', 'server.port': 80 }],
    ['[::1]:8080', { 'server.address': '::1', 'server.port': 8080 }],
    ['example.com:99999', {}],
    ['<script>', {}],
    [`${'a'.repeat(300)}.example`, {}],
    [undefined, {}],
  ])('names the server of the Host header %j only if it is one', (host, expected) => {
    startServerSpan({}, host === undefined ? {} : { host }).end();
    const { 'server.address': address, 'server.port': port } = finished()[0]!.attributes;
    expect({ ...(address !== undefined && { 'server.address': address, 'server.port': port }) }).toEqual(
      expected,
    );
  });

  it('describes a request of HTTP/2 by its pseudo-headers', () => {
    const headers = { ':authority': 'llm.example.com', ':scheme': 'https' };
    startServerSpan({}, headers, { httpVersion: '2.0' }).end();
    expect(finished()[0]!.attributes).toMatchObject({
      'url.scheme': 'https',
      'server.address': 'llm.example.com',
      'server.port': 443,
      'network.protocol.version': '2',
    });
  });

  it.each([
    ['a proxy that sends nonsense', { protocol: 'javascript' }, 'http'],
    ['a connection with TLS', { socket: { encrypted: true } }, 'https'],
    ['no connection, as in a test of the application', { socket: undefined }, 'http'],
  ])('knows the scheme of %s', (_whose, more, scheme) => {
    startServerSpan({}, {}, more).end();
    expect(finished()[0]!.attributes['url.scheme']).toBe(scheme);
  });

  it('calls a method that the conventions do not know _OTHER', () => {
    startServerSpan({ method: 'PURGE' }, {}).end();
    expect(finished()[0]).toMatchObject({ name: 'HTTP /v1/x' });
    expect(finished()[0]!.attributes).toMatchObject({
      'http.request.method': '_OTHER',
      'http.request.method_original': 'PURGE',
    });
  });

  it('is INTERNAL below an active span of the application, and SERVER below a remote one', () => {
    const application = trace.getTracer('application').startSpan('application');
    const below = (parent: ReturnType<typeof trace.setSpan>) =>
      context.with(parent, () => startServerSpan({}, caller('01')).end());
    below(trace.setSpan(context.active(), application));
    below(trace.setSpanContext(context.active(), { ...application.spanContext(), isRemote: true }));
    const parent = application.spanContext().spanId;
    expect(finished().map(({ kind, parentSpanContext }) => [kind, parentSpanContext?.spanId])).toEqual([
      [SpanKind.INTERNAL, parent],
      [SpanKind.SERVER, parent],
    ]);
  });

  it.each([
    ['of 513 characters', `a=${'x'.repeat(511)}`],
    ['of 33 members', Array.from({ length: 33 }, (_, at) => `k${at}=v`).join(',')],
  ])('drops a tracestate %s, and keeps the trace', (_what, tracestate) => {
    const span = startServerSpan({}, { ...caller('01'), tracestate });
    expect(span.spanContext()).toMatchObject({ traceId: trace_id });
    expect(span.spanContext().traceState).toBeUndefined();
    expect(traceHeaders(span)).not.toHaveProperty('tracestate');
  });

  it.each([
    'vendor=1,other=2',
    `a=${'x'.repeat(255)},b=${'x'.repeat(252)}`,
    Array.from({ length: 32 }, (_, at) => `k${at}=v`).join(','),
  ])('passes a tracestate of an allowed size on: %.40s', tracestate => {
    const span = startServerSpan({}, { ...caller('01'), tracestate });
    expect(traceHeaders(span).tracestate).toBe(tracestate);
  });

  it.each(['=', ',,,,', 'no-member', 'UPPER=1', 'k=\u00e9', 'a=1,,b=2,a', `${'='.repeat(500)}`])(
    'passes of the nonsense tracestate %j on what is valid, if anything',
    tracestate => {
      const span = startServerSpan({}, { ...caller('01'), tracestate });
      expect(traceHeaders(span).tracestate).toMatch(/^(a=1,b=2)?$/);
      expect(span.spanContext().traceId).toBe(trace_id);
    },
  );

  it.each([
    'nonsense',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${trace_id}-${'0'.repeat(16)}-01`,
    `00-${trace_id}-b7ad6b7169203331-01-more`,
    `ff-${trace_id}-b7ad6b7169203331-01`,
    `00-${trace_id.toUpperCase()}-b7ad6b7169203331-01`,
    `00-${trace_id}-b7ad6b7169203331-01, 00-${trace_id}-b7ad6b7169203332-01`,
    '-'.repeat(8000),
  ])('begins a trace of its own when the traceparent is malformed: %.60s', traceparent => {
    const span = startServerSpan({}, { traceparent, tracestate: 'vendor=1' });
    span.end();
    expect(finished()[0]!.parentSpanContext).toBeUndefined();
    expect(span.spanContext().traceId).not.toBe(trace_id);
    expect(traceHeaders(span)).not.toHaveProperty('tracestate');
  });

  it('begins at the time of day, also after that was set', () => {
    const now = Date.now.bind(Date);
    for (const set_ms of [3_600_000, -3_600_000, 0]) {
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + set_ms);
      startServerSpan({}, {}).end();
      clock.mockRestore();
      const [seconds] = finished().at(-1)!.startTime;
      expect(Math.abs(seconds * 1000 - (now() + set_ms))).toBeLessThan(60_000);
    }
  });

  it('gives its trace id to logs and exemplars only when it is recorded', () => {
    expect(traceIdOf(startServerSpan(request, caller('01')))).toBe(trace_id);
    expect(traceIdOf(startServerSpan(request, caller('00')))).toBeUndefined();
  });
});

describe('the span of a stage', () => {
  it('has the start and end times of its hook', () => {
    const start_ms = 1000;
    const parent = startServerSpan(request, {});
    const epoch_ms = (time: readonly [number, number]) => time[0] * 1000 + time[1] / 1e6;
    recordStageSpan(parent, {
      stage: 'auth',
      hook: 'onHeaders',
      start_ms,
      end_ms: start_ms + 2,
      own_ms: 1.5,
    });
    const [stage] = finished();
    expect(stage!.name).toBe('stage auth');
    expect(epoch_ms(stage!.startTime)).toBeCloseTo(epochOf(start_ms), 2);
    expect(epoch_ms(stage!.endTime)).toBeCloseTo(epochOf(start_ms) + 2, 2);
    expect(Math.abs(epochOf(performance.now()) - Date.now())).toBeLessThan(10);
    expect(stage!.attributes).toEqual({
      'sluice.stage': 'auth',
      'sluice.hook': 'onHeaders',
      'sluice.own_ms': 1.5,
    });
    expect(stage!.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
  });

  it('shows a fault with the place where it was thrown, without the words of its message', () => {
    const secret = new TypeError('the key is sk-secret\n    at sk-secret');
    const error = { type: 'server_error', isFault: true, exception: exceptionAttributes(secret) };
    const time = { stage: 'own', hook: 'onRequest', start_ms: 1, end_ms: 2, own_ms: 1 };
    recordStageSpan(startServerSpan({}, {}), time, error);
    const [stage] = finished();
    expect(stage).toMatchObject({ status: { code: SpanStatusCode.ERROR }, events: [{ name: 'exception' }] });
    expect(stage!.attributes['error.type']).toBe('server_error');
    expect(stage!.events[0]!.attributes).toMatchObject({
      'exception.type': 'TypeError',
      'exception.stacktrace': expect.stringContaining('tracing.test.ts'),
    });
    expect(JSON.stringify(stage!.events)).not.toContain('sk-secret');
  });

  it('shows a refusal by its type alone, as no fault, and of a deep stack thirty calls', () => {
    const time = { stage: 'own', hook: 'onRequest', start_ms: 1, end_ms: 2, own_ms: 1 };
    recordStageSpan(startServerSpan({}, {}), time, { type: 'rate_limit_error', isFault: false });
    expect(finished()[0]).toMatchObject({ status: { code: SpanStatusCode.UNSET }, events: [] });
    expect(finished()[0]!.attributes['error.type']).toBe('rate_limit_error');
    const deep = Object.assign(new Error('x'), { stack: `Error: x${'\n    at call (a.ts:1:1)'.repeat(40)}` });
    expect(`${exceptionAttributes(deep)['exception.stacktrace']}`.split('\n')).toHaveLength(30);
  });

  it('shows of a thrown value that is no error only what kind it is', () => {
    expect(exceptionAttributes('sk-secret')).toEqual({ 'exception.type': 'string' });
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    for (const odd of [proxy, Object.assign(new Error('x'), { stack: null, name: undefined })])
      expect(exceptionAttributes(odd)).toMatchObject({ 'exception.type': expect.any(String) });
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

  it('never passes baggage on to the upstream, whether a client sent it or the application set it', () => {
    const application = trace.getTracer('application').startSpan('application');
    const baggage = propagation.createBaggage({ customer: { value: 'acme' } });
    const active = propagation.setBaggage(trace.setSpan(context.active(), application), baggage);
    const headers = context.with(active, () => traceHeaders(startServerSpan({}, {})));
    expect(Object.keys(headers)).toEqual(['traceparent']);
    const sent = { ...caller('01'), baggage: 'customer=acme' };
    expect(Object.keys(traceHeaders(startServerSpan({}, sent)))).toEqual(['traceparent']);
  });

  it('passes the trace on to the upstream, even when it is not sampled', () => {
    for (const flags of ['00', '01'] as const) {
      const child = startChildSpan(startServerSpan(request, caller(flags)), 'chat', SpanKind.CLIENT, {});
      expect(traceHeaders(child).traceparent).toBe(`00-${trace_id}-${child.spanContext().spanId}-${flags}`);
    }
  });
});

describe('a span that is over', () => {
  it('has the time of what happened in it, and its error as its status', () => {
    const span = startServerSpan(request, {});
    const at_ms = epochOf(performance.now());
    markEvent(span, 'first_token', { choice: 1 });
    endSpan(span, 'timeout_error', performance.now() + 5);
    const [{ events, status, attributes, endTime } = finished()[0]!] = finished();
    const [event] = events;
    expect(event).toMatchObject({ name: 'first_token', attributes: { choice: 1 } });
    expect(Math.abs(event!.time[0] * 1000 + event!.time[1] / 1e6 - at_ms)).toBeLessThan(5);
    expect(endTime[0] * 1000 + endTime[1] / 1e6).toBeGreaterThan(at_ms + 4);
    expect([status.code, attributes['error.type']]).toEqual([SpanStatusCode.ERROR, 'timeout_error']);
  });

  it('takes no request with it where the tracing of the application throws, which is told at most once in a process', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const broken = new Proxy(startServerSpan({}, {}), {
      get() {
        throw new Error('no exporter');
      },
    });
    for (let times = 0; times < 2; times++) {
      expect([traceIdOf(broken), isRecorded(broken), traceHeaders(broken)]).toEqual([undefined, false, {}]);
      markEvent(broken, 'x');
      endSpan(broken, undefined);
    }
    expect(warn.mock.calls.slice(1)).toEqual([]);
    warn.mockRestore();
  });
});
