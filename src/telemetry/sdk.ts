import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { version } from '../common/version.ts';
import { type Environment, isDisabled, traceMistakes } from './otel-variables.ts';
import { registerTraceMetrics, SpanProcessorReader } from './span-metrics.ts';

/** Variables of OpenTelemetry that say where spans go; without any of them nothing is loaded, and tracing costs nothing. */
const destinations = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
] as const;

/** A request has ten spans, so more may wait than by default; the SDK counts what it has sent and dropped only when it is asked to. */
const defaults = { OTEL_BSP_MAX_QUEUE_SIZE: '16384', OTEL_NODE_EXPERIMENTAL_SDK_METRICS: 'true' } as const;

const noAttributes = {};

/** The SDK's own counts of started and live spans, which nothing reads: with their attributes they are half of what starting a span costs. */
const cheapSpanCounts = {
  instrumentName: 'otel.sdk.span.*',
  attributesProcessors: [{ process: () => noAttributes }],
};

/** Longest wait at the end for a collector to take the last spans. */
const last_export_ms = 5000;

/** Whether the environment asks for traces, by the standard variables of OpenTelemetry. */
export const isTracingWanted = (environment: Environment): boolean =>
  !isDisabled(environment) &&
  environment.OTEL_TRACES_EXPORTER?.trim() !== 'none' &&
  askedBy(environment) !== undefined;

const askedBy = (environment: Environment): string | undefined =>
  destinations.find(name => environment[name]?.trim());

/**
 * Starts OpenTelemetry's SDK for this process if the environment asks for traces; the SDK reads its standard `OTEL_*` variables itself. Spans
 * that were sent and dropped are counted on `registry`. For the sidecar alone: a mounted gateway uses what its application has set up. Returns
 * what sends the last spans and ends it, within 5 s whatever the collector does. Rejects with one sentence for each variable about
 * traces that would not do what it says, and with what to install where the SDK, an optional dependency, is missing.
 */
export async function startTracing(
  environment: Record<string, string | undefined>,
  registry: Registry,
  load = () => import('@opentelemetry/sdk-node'),
): Promise<() => Promise<void>> {
  if (!isTracingWanted(environment)) return async () => {};
  const mistakes = traceMistakes(environment);
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  const { NodeSDK } = await load().catch(cause => {
    throw new Error(
      `${askedBy(environment)} asks for traces, which needs OpenTelemetry's SDK: npm install @opentelemetry/sdk-node, or set OTEL_SDK_DISABLED=true`,
      { cause },
    );
  });
  for (const [name, value] of Object.entries(defaults)) environment[name] ||= value;
  const reader = new SpanProcessorReader();
  const serviceName = describeService(environment);
  const sdk = new NodeSDK({
    ...(serviceName !== undefined && { serviceName }),
    // Spans are made here, where it is known what they mean; metrics are Prometheus's and logs are pino's.
    instrumentations: [],
    metricReaders: [reader],
    views: [cheapSpanCounts],
    logRecordProcessors: [],
  });
  sdk.start();
  registerTraceMetrics(registry, fate => reader.count(fate));
  return () => ended(sdk);
}

/** Adds the version of the service to what the operator says of it, which wins. Returns its name, if the operator gave none. */
function describeService(environment: Record<string, string | undefined>): string | undefined {
  const given = environment.OTEL_RESOURCE_ATTRIBUTES?.trim();
  environment.OTEL_RESOURCE_ATTRIBUTES = `service.version=${version}${given ? `,${given}` : ''}`;
  const isNamed = /(?:^|,)\s*service\.name\s*=/.test(given ?? '');
  return environment.OTEL_SERVICE_NAME?.trim() || (isNamed ? undefined : 'sluice');
}

/** Resolves when the last spans are sent, or could not be in time: a collector that is down must not fail or hold a shutdown. */
async function ended(sdk: { shutdown(): Promise<void> }): Promise<void> {
  const late = new AbortController();
  const sent = sdk.shutdown().catch(() => {});
  await Promise.race([sent, sleep(last_export_ms, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
}
