import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { isTracingWanted, startTracing } from '../../../../src/telemetry/sdk.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };

describe('the tracing setup', () => {
  it.each([
    endpoint,
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9' },
    { OTEL_TRACES_EXPORTER: 'console' },
  ])('is enabled by %j', environment => {
    expect(isTracingWanted(environment)).toBe(true);
  });

  it.each([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_SERVICE_NAME: 'edge' },
    { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
  ])('is disabled with %j, and loads nothing', async environment => {
    expect(isTracingWanted(environment)).toBe(false);
    const registry = new Registry();
    const end = await startTracing(environment, registry, () => Promise.reject(new Error('loaded')));
    await end();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('names the variable that enables it and the package to install when the SDK is missing', async () => {
    const missing = new Error("Cannot find package '@opentelemetry/sdk-node'");
    const started = startTracing({ ...endpoint }, new Registry(), () => Promise.reject(missing));
    await expect(started).rejects.toThrow(
      /^OTEL_EXPORTER_OTLP_ENDPOINT asks for traces.*npm install @opentelemetry\/sdk-node/,
    );
    await expect(started).rejects.toMatchObject({ cause: missing });
  });
});
