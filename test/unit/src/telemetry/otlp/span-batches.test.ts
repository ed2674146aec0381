import { describe, expect, it } from '@jest/globals';
import { SpanKind } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import type { Batch } from '../../../../../src/telemetry/otlp/batch-writer.ts';
import { requestOf } from '../../../../../src/telemetry/otlp/batch-writer.ts';
import { type BatchLimits, SpanBatches } from '../../../../../src/telemetry/otlp/span-batches.ts';
import { describeSpan, recordStageSpan } from '../../../../../src/telemetry/tracing.ts';
import { until } from '../../../../support/hostile-setting.ts';
import { decodedRequest } from '../../../../support/otlp-protobuf.ts';

/** A collector that answers when it is told to, and what was counted. */
function opened(limits: Partial<BatchLimits> = {}) {
  const sent: Batch[] = [];
  const waiting: ((taken: boolean) => void)[] = [];
  const counts = { sent: 0, queue_full: 0, failed: 0, rejected: 0 };
  const sink = {
    send: (batch: Batch) => {
      sent.push(batch);
      return new Promise<boolean>(resolve => waiting.push(resolve));
    },
    close: async () => {},
  };
  const counter = {
    sent: (spans: number) => void (counts.sent += spans),
    dropped: (spans: number, reason: 'queue_full' | 'failed' | 'rejected') => void (counts[reason] += spans),
  };
  const batches = new SpanBatches(
    { max_waiting: 100, max_batch: 10, delay_ms: 60_000, ...limits },
    sink,
    counter,
  );
  const tracer = new TracerProvider({ spanProcessors: [batches] }).getTracer('sluice');
  return {
    batches,
    tracer,
    sent,
    counts,
    sizes: () => sent.map(({ spans }) => spans),
    spans: (count: number) => {
      for (let at = 0; at < count; at++) tracer.startSpan(`span ${at}`).end();
    },
    answer: (taken: boolean) => waiting.shift()!(taken),
  };
}

describe('batches of spans', () => {
  it('go one after the other when they are full, and never hold more than they may', async () => {
    const { spans, sizes, answer, counts } = opened();
    spans(25);
    expect(sizes()).toEqual([10]);
    answer(true);
    await until(() => sizes().length === 2);
    answer(true);
    await until(() => counts.sent === 20);
    expect(sizes()).toEqual([10, 10]);
  });

  it('go when the oldest of their spans has waited long enough', async () => {
    const { spans, sizes } = opened({ delay_ms: 20 });
    spans(3);
    expect(sizes()).toEqual([]);
    await until(() => sizes().length === 1);
    expect(sizes()).toEqual([3]);
  });

  it('drop what comes while as many wait as may, and count it', () => {
    const { spans, counts, sizes } = opened({ max_waiting: 30 });
    spans(50);
    expect([sizes(), counts]).toEqual([[10], { sent: 0, queue_full: 10, failed: 0, rejected: 0 }]);
  });

  it('are shorter where spans are long', () => {
    const { tracer, sizes } = opened();
    const long = 'x'.repeat(1_500_000);
    for (let at = 0; at < 3; at++) tracer.startSpan('long', { attributes: { long } }).end();
    expect(sizes()).toEqual([2]);
  });

  it('are sent at the end, the last one as well', async () => {
    const { batches, spans, sizes, answer, counts } = opened();
    spans(12);
    const ended = batches.shutdown();
    answer(true);
    await until(() => sizes().length === 2);
    answer(true);
    await ended;
    spans(5);
    expect([sizes(), counts.sent]).toEqual([[10, 2], 12]);
  });

  it('are given up at the end when the collector has failed, and the next is tried when it fails before', async () => {
    const { batches, spans, sizes, answer, counts } = opened();
    spans(45);
    answer(false);
    await until(() => sizes().length === 2);
    const ended = batches.shutdown();
    answer(false);
    await ended;
    expect([sizes(), counts]).toEqual([[10, 10], { sent: 0, queue_full: 0, failed: 45, rejected: 0 }]);
  });
});

describe('a span of the gateway', () => {
  it('is sent with what was noted of it, and its stages below it', async () => {
    const { batches, tracer, sent, answer } = opened();
    const span = tracer.startSpan('POST /v1/x', { kind: SpanKind.SERVER });
    span.setAttribute('sluice.model', 'set by a plugin');
    describeSpan(span, { 'sluice.model': 'noted', 'sluice.attempts': 2, 'sluice.account': undefined });
    const [start_ms, end_ms] = [1_790_000_000_000.5, 1_790_000_000_002.25];
    recordStageSpan(span, { stage: 'auth', hook: 'onHeaders', start_ms, end_ms, own_ms: 0.25 });
    span.end();
    const ended = batches.shutdown();
    answer(true);
    await ended;

    const ids = span.spanContext();
    const request = decodedRequest(requestOf(sent[0]!), String);
    expect(request).toMatchObject({
      resourceSpans: [
        {
          scopeSpans: [
            {
              scope: { name: 'sluice' },
              spans: [
                {
                  spanId: ids.spanId,
                  parentSpanId: '',
                  kind: 2,
                  attributes: [
                    { key: 'sluice.model', value: { stringValue: 'set by a plugin' } },
                    { key: 'sluice.attempts', value: { intValue: '2' } },
                  ],
                },
                {
                  traceId: ids.traceId,
                  parentSpanId: ids.spanId,
                  spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
                  name: 'stage auth',
                  kind: 1,
                  startTimeUnixNano: '1790000000000500000',
                  endTimeUnixNano: '1790000000002250000',
                  attributes: [
                    { key: 'sluice.stage', value: { stringValue: 'auth' } },
                    { key: 'sluice.hook', value: { stringValue: 'onHeaders' } },
                    { key: 'sluice.own_ms', value: { doubleValue: 0.25 } },
                  ],
                  flags: 0x101,
                },
              ],
            },
          ],
        },
      ],
    });
  });
});
