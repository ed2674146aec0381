/** Variables of OpenTelemetry that say where spans go; without any of them nothing is loaded, and tracing costs nothing. */
const destinations = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the environment asks for traces, by the standard variables of OpenTelemetry. */
export function isTracingWanted(environment: Environment): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || environment.OTEL_TRACES_EXPORTER === 'none')
    return false;
  return destinations.some(name => (environment[name] ?? '') !== '');
}

/**
 * Starts OpenTelemetry's SDK for this process if the environment asks for traces; the SDK reads the rest of its standard `OTEL_*` variables
 * itself. For the sidecar alone: a mounted gateway uses what its application has set up. Returns what sends the last spans and ends it.
 */
export async function startTracing(environment: Environment): Promise<() => Promise<void>> {
  if (!isTracingWanted(environment)) return async () => {};
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const sdk = new NodeSDK({
    serviceName: environment.OTEL_SERVICE_NAME || 'sluice',
    // Spans are made here, where it is known what they mean; metrics are Prometheus's and logs are pino's.
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return () => sdk.shutdown();
}
