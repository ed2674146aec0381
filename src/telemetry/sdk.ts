import type { Registry } from 'prom-client';
import type { BatchLimits } from './otlp/span-batches.ts';

/** Variables of OpenTelemetry that say where spans go; without any of them nothing is loaded, and tracing costs nothing. */
const destinations = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
] as const;

/** Variables that may cut the attributes of spans, those of stages as well. */
const attributeLimits = [
  'OTEL_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
] as const;

/** OpenTelemetry's delay, but more spans at once and waiting: written they take an eighth of their room as objects, and a request costs as much as ten exchanges. */
const defaults: BatchLimits = { max_waiting: 16_384, max_batch: 2048, delay_ms: 5000 };

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the environment asks for traces, by the standard variables of OpenTelemetry. */
export function isTracingWanted(environment: Environment): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || environment.OTEL_TRACES_EXPORTER === 'none')
    return false;
  return destinations.some(name => isSet(environment, name));
}

/**
 * Starts OpenTelemetry's SDK for this process if the environment asks for traces; the SDK reads the rest of its standard `OTEL_*` variables
 * itself. What goes by OTLP over HTTP in protobuf, the default, is batched and written here, for less than it costs there, and counted
 * on `registry`. For the sidecar alone: a mounted gateway uses what its application has set up. Returns what sends the last spans and ends it.
 */
export async function startTracing(
  environment: Environment,
  registry: Registry,
): Promise<() => Promise<void>> {
  if (!isTracingWanted(environment)) return async () => {};
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const sdk = new NodeSDK({
    serviceName: environment.OTEL_SERVICE_NAME || 'sluice',
    // Spans are made here, where it is known what they mean; metrics are Prometheus's and logs are pino's.
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
    ...(isWrittenHere(environment) && { spanProcessors: [await ownProcessor(environment, registry)] }),
  });
  sdk.start();
  return () => sdk.shutdown();
}

const isSet = (environment: Environment, name: string): boolean => (environment[name] ?? '') !== '';

function isWrittenHere(environment: Environment): boolean {
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_TRACES_EXPORTER } =
    environment;
  const protocol = OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf';
  return (
    (OTEL_TRACES_EXPORTER || 'otlp').trim() === 'otlp' &&
    protocol.trim() === 'http/protobuf' &&
    !attributeLimits.some(name => isSet(environment, name))
  );
}

async function ownProcessor(environment: Environment, registry: Registry) {
  const [{ SpanBatches }, { openOtlpSink }, { TraceMetrics }] = await Promise.all([
    import('./otlp/span-batches.ts'),
    import('./otlp/otlp-sink.ts'),
    import('./trace-metrics.ts'),
  ]);
  const counts = new TraceMetrics(registry);
  return new SpanBatches(limitsIn(environment), openOtlpSink(counts, timeoutIn(environment)), counts);
}

function limitsIn(environment: Environment): BatchLimits {
  const max_waiting = numberIn(environment, 'OTEL_BSP_MAX_QUEUE_SIZE') || defaults.max_waiting;
  const max_batch = numberIn(environment, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE') || defaults.max_batch;
  const delay_ms = numberIn(environment, 'OTEL_BSP_SCHEDULE_DELAY') ?? defaults.delay_ms;
  return { max_waiting, max_batch: Math.min(max_batch, max_waiting), delay_ms };
}

/** The shorter of the limits for sending a batch, if that is not the exporter's own. */
function timeoutIn(environment: Environment): number | undefined {
  const whole_ms = numberIn(environment, 'OTEL_BSP_EXPORT_TIMEOUT');
  const of_exporter_ms =
    numberIn(environment, 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') ??
    numberIn(environment, 'OTEL_EXPORTER_OTLP_TIMEOUT') ??
    10_000;
  return whole_ms && whole_ms < of_exporter_ms ? whole_ms : undefined;
}

/** The number that `name` is set to; what is none is as if it were not set. */
function numberIn(environment: Environment, name: string): number | undefined {
  const text = environment[name]?.trim() ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
