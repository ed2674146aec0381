import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { version } from '../../../../src/common/version.ts';
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

  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const refused = async (environment: Record<string, string>): Promise<string> => {
    const started = startTracing(environment, new Registry(), () => Promise.reject(new Error('loaded')));
    return started.then(
      () => 'started',
      (error: Error) => error.message,
    );
  };

  it.each([
    { OTEL_METRICS_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' },
    { OTEL_TRACES_SAMPLER: 'of another program' },
    { ...collector, OTEL_TRACES_EXPORTER: ' none ', OTEL_TRACES_SAMPLER: 'nonsense' },
  ])('starts without a word with %j', async environment => {
    expect(await refused(environment)).toBe('started');
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'a URL that begins with http:// or https://'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://', 'a URL that begins with http:// or https://'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://col lector:4318', 'a URL that begins with'],
    ['OTEL_TRACES_SAMPLER', 'sometimes', 'one of always_on, always_off, traceidratio, parentbased_always_on'],
    ['OTEL_TRACES_EXPORTER', 'jaeger', 'one or more of otlp, console, zipkin'],
    ['OTEL_TRACES_EXPORTER', 'otlp,none', 'one or more of otlp, console, zipkin'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http', 'one of http/protobuf, http/json, grpc'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'udp', 'one of http/protobuf, http/json, grpc'],
    ['OTEL_PROPAGATORS', 'xray', 'one or more of tracecontext, baggage, b3, b3multi'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'team=a=b', 'a list key=value,key=value'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'team=%', 'a list key=value,key=value'],
  ])('refuses %s=%s and says what is accepted', async (name, value, accepted) => {
    const message = await refused({ ...collector, [name]: value });
    expect(message.startsWith(`${name} must be ${accepted}`)).toBe(true);
    expect(message.endsWith(`; it is '${value}'`)).toBe(true);
  });

  it.each([
    ['grpc', 'http/protobuf', false],
    ['http/protobuf', 'grpc', true],
  ])(
    'with the protocol %s, and %s for traces, takes a host and port alone: %s',
    async (all, traces, isTaken) => {
      const message = await refused({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
        OTEL_EXPORTER_OTLP_PROTOCOL: all,
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: traces,
      });
      expect(message.startsWith('OTEL_EXPORTER_OTLP_ENDPOINT must be')).toBe(!isTaken);
    },
  );

  it('refuses a sampling ratio that is none, and says all mistakes at once', async () => {
    const message = await refused({
      ...collector,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '10%',
      OTEL_PROPAGATORS: 'xray',
    });
    expect(message.split('\n')).toEqual([
      expect.stringMatching(/^OTEL_PROPAGATORS must be /),
      "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is '10%'",
    ]);
  });

  it.each<[string, () => Promise<void>]>([
    ['takes the last spans', async () => {}],
    ['fails', () => Promise.reject(new Error('the collector is down'))],
  ])('ends, and leaves no timer behind, when the SDK %s', async (_, shutdown) => {
    const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
    const before = timers();
    let options: object = {};
    class NodeSDK {
      constructor(given: object) {
        options = given;
      }
      start() {}
      shutdown = shutdown;
    }
    const environment: Record<string, string> = { ...collector, OTEL_BSP_MAX_QUEUE_SIZE: '7' };
    const end = await startTracing(environment, new Registry(), async () => ({ NodeSDK }) as never);
    await end();
    expect(timers()).toBe(before);
    expect(options).toMatchObject({ serviceName: 'sluice', instrumentations: [] });
    expect(environment).toMatchObject({
      OTEL_BSP_MAX_QUEUE_SIZE: '7',
      OTEL_NODE_EXPERIMENTAL_SDK_METRICS: 'true',
      OTEL_RESOURCE_ATTRIBUTES: `service.version=${version}`,
    });
  });

  it.each([
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { ...collector, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' },
    { ...collector, OTEL_TRACES_EXPORTER: 'otlp, console', OTEL_PROPAGATORS: 'b3,tracecontext' },
    { ...collector, OTEL_RESOURCE_ATTRIBUTES: 'team=blue, site=a%2Cb,' },
  ])('accepts %j', async environment => {
    expect(await refused(environment)).toMatch(/asks for traces, which needs OpenTelemetry's SDK/);
  });
});
