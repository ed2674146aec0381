import { diag } from '@opentelemetry/api';
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { SpanCounts } from '../trace-metrics.ts';
import { type Batch, requestOf } from './batch-writer.ts';
import type { BatchSink } from './span-batches.ts';

/** OpenTelemetry's name for what sends, and its code for having sent. */
const [component, success] = ['otlp_http_span_exporter', 0] as const;

/**
 * Sends batches by OTLP over HTTP. Address, headers, time limit, compression and certificates are read by OpenTelemetry's own exporter from
 * its variables, and it tries again where a collector asks for it; `timeout_ms` is over its variable for the time limit.
 */
export function openOtlpSink(counts: SpanCounts, timeout_ms: number | undefined): BatchSink {
  const options = convertLegacyHttpOptions(
    timeout_ms === undefined ? {} : { timeoutMillis: timeout_ms },
    'TRACES',
    'v1/traces',
    { 'Content-Type': 'application/x-protobuf' },
  );
  const serializer = {
    serializeRequest: requestOf,
    deserializeResponse: (answer: Uint8Array) => answered(answer, counts),
  };
  const helper = { name: 'span', countItems: ({ spans }: Batch) => spans } as const;
  const delegate = createOtlpHttpExportDelegate(options, serializer, component, helper, undefined);
  return {
    send: async batch => {
      try {
        // What identifies the host may still be read.
        await batch.resource.waitForAsyncAttributes?.();
        await new Promise<void>((resolve, reject) =>
          delegate.export(batch, ({ code, error }) => (code === success ? resolve() : reject(error))),
        );
        return true;
      } catch (error) {
        diag.error(`${batch.spans} spans have not been sent`, error);
        return false;
      }
    },
    close: () => delegate.shutdown(),
  };
}

/** A collector may take a batch and refuse some of its spans. */
function answered(answer: Uint8Array, counts: SpanCounts) {
  const response = ProtobufTraceSerializer.deserializeResponse(answer);
  const rejected = Number(response.partialSuccess?.rejectedSpans ?? 0);
  if (rejected > 0) counts.dropped(rejected, 'rejected');
  return response;
}
