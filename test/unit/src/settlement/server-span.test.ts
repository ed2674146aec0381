import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { ExchangeEnd } from '../../../../src/exchange/exchange-end.ts';
import { endServerSpan } from '../../../../src/settlement/settle.ts';
import { sampleExchange } from '../../sample-exchange.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
trace.setGlobalTracerProvider(provider);
beforeEach(() => exporter.reset());
afterAll(() => provider.shutdown());

/** The end of an exchange, and what its span says: whether it has failed, `error.type` and the status. */
const ends: [string, (end: ExchangeEnd) => void, boolean, string | undefined, number | undefined][] = [
  ['a whole reply', end => end.replied(200), false, undefined, 200],
  [
    'a refusal',
    end => {
      end.replied(429);
      end.errorSent({ type: 'rate_limit_error' });
    },
    false,
    'rate_limit_error',
    429,
  ],
  [
    'an error of the operator that clients read as 400',
    end => {
      end.causedBy('upstream_failed');
      end.replied(400);
      end.errorSent({ type: 'configuration_error' });
    },
    false,
    'configuration_error',
    400,
  ],
  [
    'an error of the server',
    end => {
      end.replied(502);
      end.errorSent({ type: 'server_error' });
    },
    true,
    'server_error',
    502,
  ],
  ["a handler's own 500", end => end.replied(500), true, '500', 500],
  ["a handler's own 404", end => end.replied(404), false, undefined, 404],
  [
    'a stream that ended with an error event',
    end => {
      end.replied(200);
      end.errorSent({ type: 'rate_limit_error' });
    },
    true,
    'rate_limit_error',
    200,
  ],
  [
    'a reply of a handler that broke off',
    end => {
      end.replied(200);
      end.causedBy('upstream_failed');
    },
    true,
    'upstream_failed',
    200,
  ],
  ['a client that left before the status', end => end.clientLeft(), false, undefined, undefined],
  [
    'a client that left in a stream',
    end => {
      end.replied(200);
      end.clientLeft();
    },
    false,
    undefined,
    200,
  ],
  [
    'a client that reads too slowly',
    end => {
      end.replied(200);
      end.causedBy('slow_client');
    },
    false,
    undefined,
    200,
  ],
  [
    'the time limit of a whole reply',
    end => {
      end.causedBy('time_limit');
      end.replied(524);
    },
    true,
    '524',
    524,
  ],
];

it.each(ends)('says of %s whether it has failed, and how', (_what, happen, hasFailed, error_type, status) => {
  const exchange = sampleExchange({ start: { span: trace.getTracer('t').startSpan('exchange') } });
  happen(exchange.end);
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
