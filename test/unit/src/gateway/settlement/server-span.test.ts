import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { ExchangeEnd } from '../../../../../src/gateway/exchange/exchange-end.ts';
import { endServerSpan } from '../../../../../src/gateway/settlement/settle.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
trace.setGlobalTracerProvider(provider);
beforeEach(() => exporter.reset());
afterAll(() => provider.shutdown());

type Step = (end: ExchangeEnd) => void;
const status =
  (code: number): Step =>
  end =>
    end.replied(code);
const error =
  (type: Parameters<ExchangeEnd['errorSent']>[0]['type']): Step =>
  end =>
    end.errorSent({ type });
const cause =
  (reason: Parameters<ExchangeEnd['causedBy']>[0]): Step =>
  end =>
    end.causedBy(reason);
const left: Step = end => end.clientLeft();

it.each<[string, Step[], boolean, string | undefined, number | undefined]>([
  ['a whole reply', [status(200)], false, undefined, 200],
  ['a refusal', [status(429), error('rate_limit_error')], false, 'rate_limit_error', 429],
  [
    'an error of the operator that clients read as 400',
    [cause('upstream_failed'), status(400), error('configuration_error')],
    false,
    'configuration_error',
    400,
  ],
  ['an error of the server', [status(502), error('server_error')], true, 'server_error', 502],
  ["a handler's own 500", [status(500)], true, '500', 500],
  ["a handler's own 404", [status(404)], false, undefined, 404],
  ['an error event in a stream', [status(200), error('rate_limit_error')], true, 'rate_limit_error', 200],
  ['a reply that broke off', [status(200), cause('upstream_failed')], true, 'upstream_failed', 200],
  ['a client that left before the status', [left], false, undefined, undefined],
  ['a client that left in a stream', [status(200), left], false, undefined, 200],
  ['a client that reads too slowly', [status(200), cause('slow_client')], false, undefined, 200],
  ['the time limit of a whole reply', [cause('time_limit'), status(524)], true, '524', 524],
])('says of %s whether it has failed, and how', (_what, steps, hasFailed, error_type, status) => {
  const exchange = sampleExchange({ start: { span: trace.getTracer('t').startSpan('exchange') } });
  for (const step of steps) step(exchange.end);
  endServerSpan(exchange);
  const [span] = exporter.getFinishedSpans();
  expect(span!.status.code).toBe(hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET);
  expect(span!.attributes['error.type']).toBe(error_type);
  expect(span!.attributes['http.response.status_code']).toBe(status);
  expect(span!.attributes['sluice.end_reason']).toBe(exchange.end.reason);
});

it('ends a span once', () => {
  const exchange = sampleExchange({ start: { span: trace.getTracer('t').startSpan('exchange') } });
  endServerSpan(exchange);
  endServerSpan(exchange);
  expect(exporter.getFinishedSpans()).toHaveLength(1);
});
