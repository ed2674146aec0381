import { describe, expect, it } from '@jest/globals';
import { SpanProcessorReader } from '../../../../src/telemetry/span-metrics.ts';

type Producer = Parameters<SpanProcessorReader['setMetricProducer']>[0];

/** What the SDK answers: points of metrics by name, each with an error type. */
const producerOf = (metrics: Record<string, readonly (readonly [string | undefined, number])[]>): Producer =>
  ({
    collect: async () => ({
      errors: [],
      resourceMetrics: {
        scopeMetrics: [
          {
            metrics: Object.entries(metrics).map(([name, points]) => ({
              descriptor: { name },
              dataPoints: points.map(([type, value]) => ({
                attributes: type === undefined ? {} : { 'error.type': type },
                value,
              })),
            })),
          },
        ],
      },
    }),
  }) as unknown as Producer;

describe('the reader of span processors', () => {
  it('counts spans by outcome, over all processors and kinds of failure', async () => {
    const reader = new SpanProcessorReader();
    reader.setMetricProducer(
      producerOf({
        'otel.sdk.processor.span.processed': [
          [undefined, 5],
          [undefined, 2],
          ['queue_full', 3],
          ['OTLPExporterError', 4],
          ['Timeout', 1],
        ],
        'otel.sdk.processor.span.queue.size': [[undefined, 100]],
      }),
    );
    const counts = await Promise.all(
      (['sent', 'queue_full', 'failed'] as const).map(fate => reader.count(fate)),
    );
    expect(counts).toEqual([7, 3, 5]);
  });

  it('counts nothing before the SDK has started', async () => {
    expect(await new SpanProcessorReader().count('sent')).toBe(0);
  });
});
