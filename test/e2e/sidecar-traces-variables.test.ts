import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let receiver: OtlpReceiver;
let simulator: Simulator;
let sidecar: SidecarProcess | undefined;

beforeEach(async () => {
  receiver = await startOtlpReceiver();
  simulator = await startSimulator({ api_key: null });
});
afterEach(async () => {
  await sidecar?.stop();
  sidecar = undefined;
  await simulator.close();
  receiver.close();
});

/** A sidecar that sends its spans as soon as there are any, and one exchange of it. */
async function exchangeWith(variables: Record<string, string>, headers: Record<string, string> = {}) {
  sidecar = await startSidecar(sidecarConfig(simulator.url), {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    ...variables,
  });
  const response = await fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(ask('Hello.')),
  });
  await response.text();
  return sidecar;
}

const serverSpan = () => receiver.spans.find(({ kind }) => kind === 2);
const stageSpans = () => receiver.spans.filter(({ name }) => name.startsWith('stage '));
const counted = async ({ adminUrl }: SidecarProcess, series: string): Promise<number> => {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const line = text.split('\n').find(candidate => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length));
};

describe("OpenTelemetry's environment variables", () => {
  it('set where spans go, their headers and their compression; exported spans are counted', async () => {
    const started = await exchangeWith({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/own/path`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=blue',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'edge',
    });
    await until(() => serverSpan() !== undefined);
    expect(serverSpan()!.resource).toMatchObject({ 'service.name': 'edge' });
    expect(receiver.lastRequest).toMatchObject({
      path: '/own/path',
      headers: {
        'x-tenant': 'blue',
        'content-encoding': 'gzip',
        'content-type': 'application/x-protobuf',
      },
    });
    await until(async () => (await counted(started, 'sluice_spans_sent_total')) === receiver.spans.length);
    expect(await counted(started, 'sluice_spans_dropped_total{reason="failed"}')).toBe(0);
  });

  it('limit the attributes of spans, those of stages included, and describe the service in place of sluice', async () => {
    await exchangeWith({
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '2',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=edge,service.version=7',
    });
    await until(() => serverSpan() !== undefined);
    expect(serverSpan()!.resource).toMatchObject({ 'service.name': 'edge', 'service.version': '7' });
    expect(stageSpans()).not.toEqual([]);
    for (const { attributes } of receiver.spans) expect(Object.keys(attributes).length).toBeLessThan(3);
  });

  it('set the sampling, and unsampled traces still propagate to the upstream', async () => {
    const caller = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await exchangeWith({ OTEL_TRACES_SAMPLER: 'always_off' }, { traceparent: caller });
    const { traceparent } = simulator.requests.at(-1)!.headers;
    expect(traceparent).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-00$/);
    await sidecar!.stop();
    expect(receiver.spans).toEqual([]);
  });
});

it('loses and counts spans, but no exchange, when a collector refuses them', async () => {
  receiver.status = 400;
  const started = await exchangeWith({});
  await until(async () => (await counted(started, 'sluice_spans_dropped_total{reason="failed"}')) >= 7);
  expect(await counted(started, 'sluice_spans_sent_total')).toBe(0);
  receiver.status = 200;
  await fetch(`${started.url}/v1/models`);
  await until(async () => (await counted(started, 'sluice_spans_sent_total')) > 0);
});
