import type { Registry } from 'prom-client';
import { registerTraceMetrics, SpanProcessorReader } from './span-metrics.ts';

/** Variables of OpenTelemetry that say where spans go; without any of them nothing is loaded, and tracing costs nothing. */
const destinations = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
] as const;

/** A request has ten spans, so more may wait than by default; the SDK counts what it has sent and dropped only when it is asked to. */
const defaults = { OTEL_BSP_MAX_QUEUE_SIZE: '16384', OTEL_NODE_EXPERIMENTAL_SDK_METRICS: 'true' } as const;

type Environment = Record<string, string | undefined>;

/** Whether the environment asks for traces, by the standard variables of OpenTelemetry. */
export const isTracingWanted = (environment: Environment): boolean =>
  environment.OTEL_SDK_DISABLED?.toLowerCase() !== 'true' &&
  environment.OTEL_TRACES_EXPORTER !== 'none' &&
  askedBy(environment) !== undefined;

const askedBy = (environment: Environment): string | undefined =>
  destinations.find(name => environment[name]);

/**
 * Starts OpenTelemetry's SDK for this process if the environment asks for traces; the SDK reads its standard `OTEL_*` variables itself. Spans
 * that were sent and dropped are counted on `registry`. For the sidecar alone: a mounted gateway uses what its application has set up. Returns
 * what sends the last spans and ends it. Rejects with what to install where the SDK, an optional dependency, is missing.
 */
export async function startTracing(
  environment: Environment,
  registry: Registry,
  load = () => import('@opentelemetry/sdk-node'),
): Promise<() => Promise<void>> {
  if (!isTracingWanted(environment)) return async () => {};
  const { NodeSDK } = await load().catch(cause => {
    throw new Error(
      `${askedBy(environment)} asks for traces, which needs OpenTelemetry's SDK: npm install @opentelemetry/sdk-node, or set OTEL_SDK_DISABLED=true`,
      { cause },
    );
  });
  for (const [name, value] of Object.entries(defaults)) environment[name] ||= value;
  const reader = new SpanProcessorReader();
  const sdk = new NodeSDK({
    serviceName: environment.OTEL_SERVICE_NAME || 'sluice',
    // Spans are made here, where it is known what they mean; metrics are Prometheus's and logs are pino's.
    instrumentations: [],
    metricReaders: [reader],
    logRecordProcessors: [],
  });
  sdk.start();
  registerTraceMetrics(registry, fate => reader.count(fate));
  return () => sdk.shutdown();
}
