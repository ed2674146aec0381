import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { version } from '../../src/common/version.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const caller = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' };
const traceparent = `00-${caller.trace_id}-${caller.span_id}-01`;
const [server, client] = [2, 3];
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

/** Two providers for every model, of which the first always fails. */
function failingFirst(config: GatewayConfig): GatewayConfig {
  const models = defaultModels('upstream').map(model => ({
    ...model,
    upstreams: [
      { provider: 'broken', model: 'm' },
      { ...model.upstreams[0]!, priority: 2 },
    ],
  }));
  const broken = { adapter: 'vllm', base_url: 'http://127.0.0.1:9/v1' };
  return { ...config, models, providers: { ...config.providers, broken } } as GatewayConfig;
}

/** A sidecar that sends its spans as soon as there are any, and one exchange of it. */
async function exchangeWith(
  variables: Record<string, string>,
  { headers = {}, fields = {}, config = sidecarConfig(simulator.url) } = {},
): Promise<SidecarProcess> {
  sidecar = await startSidecar(config, {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    ...variables,
  });
  const response = await post(
    `${sidecar.url}/v1/chat/completions`,
    ask('Hello, my secret is safe.', fields),
    headers,
  );
  await response.text();
  expect(response.status).toBe(200);
  return sidecar;
}

const serverSpan = () => receiver.spans.find(({ kind }) => kind === server);
const counted = async ({ adminUrl }: SidecarProcess, series: string): Promise<number> => {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const line = text.split('\n').find(candidate => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length));
};

/** Variables that say where spans go, and in which form. */
const destinations: readonly (readonly [string, string, Record<string, string>])[] = [
  [
    'http/protobuf',
    '/own/path',
    { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip', OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=blue' },
  ],
  ['http/json', '/v1/traces', { OTEL_SERVICE_NAME: 'edge' }],
];

it.each(destinations)(
  'a trace that a collector receives by %s at %s is one tree below the caller, with every stage and both attempts of a retry',
  async (protocol, path, more) => {
    const config = failingFirst(sidecarConfig(simulator.url, { log: { level: 'info' } }));
    const headers = {
      traceparent,
      tracestate: 'vendor=1',
      baggage: 'customer=acme',
      'user-agent': 'a client/1.0',
    };
    const fields = { stream: true, max_tokens: 40, temperature: 0.5, stop: ['never said'] };
    const variables = {
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      ...(path === '/own/path' && { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url + path }),
      ...more,
    };
    const { url, adminUrl, output } = await exchangeWith(variables, { headers, fields, config });
    // Each of the stages that end it sends a span of its own, in a batch before or behind.
    await until(() => serverSpan() !== undefined && receiver.spans.length >= 9);
    const { spans } = receiver;
    const root = serverSpan()!;
    expect(root).toMatchObject({
      name: 'POST /v1/chat/completions',
      parent_id: caller.span_id,
      failed: false,
      attributes: {
        'http.response.status_code': 200,
        'server.port': Number(new URL(url).port),
        'client.address': '127.0.0.1',
        'user_agent.original': 'a client/1.0',
        'sluice.attempts': 2,
        'sluice.account': 'tester',
      },
    });
    for (const { scope, resource } of spans) {
      const schema_url = 'https://opentelemetry.io/schemas/1.44.0';
      expect(scope).toEqual({ name: 'sluice', version, schema_url });
      expect(resource).toMatchObject({
        'service.name': more.OTEL_SERVICE_NAME ?? 'sluice',
        'service.version': version,
        'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
        'deployment.environment.name': 'test',
      });
    }
    expect(root.events.toSorted()).toEqual(['commit', 'first_token', 'retry']);
    expect(new Set(spans.map(({ trace_id }) => trace_id))).toEqual(new Set([caller.trace_id]));
    const below = spans.filter(span => span !== root);
    expect(new Set(below.map(({ parent_id }) => parent_id))).toEqual(new Set([root.span_id]));
    for (const stage of [
      'auth',
      'validation',
      'rate-limit',
      'request-rewrite',
      'stream-rechunk',
      'reasoning-split',
    ])
      expect(below.map(({ name }) => name)).toContain(`stage ${stage}`);
    const attempts = below.filter(({ kind }) => kind === client);
    expect(attempts.map(({ name, failed }) => [name, failed])).toEqual([
      ['chat m', true],
      ['chat aion-3.5', false],
    ]);
    // Of every type that an attribute may have.
    expect(attempts[1]!.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.stream': true,
      'gen_ai.request.max_tokens': 40,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.stop_sequences': ['never said'],
      'gen_ai.usage.input_tokens': expect.any(Number),
      'sluice.wait_ms': 0,
    });
    expect(below.find(({ name }) => name === 'stage validation')!.attributes).toEqual({
      'sluice.stage': 'validation',
      'sluice.hook': 'onRequest',
      'sluice.own_ms': expect.any(Number),
    });
    expect(JSON.stringify(spans)).not.toContain('secret');

    // At the upstream it goes on with the tracestate of the caller, and without its baggage.
    const told = simulator.requests.at(-1)!.headers;
    expect(told.traceparent).toBe(`00-${caller.trace_id}-${attempts[1]!.span_id}-01`);
    expect([told.tracestate, told.baggage]).toEqual(['vendor=1', undefined]);

    // It is found from the log and from the latency histograms.
    await until(() => output().includes(`"trace_id":"${caller.trace_id}"`));
    const accept = 'application/openmetrics-text; version=1.0.0';
    const scraped = await fetch(`${adminUrl}/metrics`, { headers: { accept } });
    expect(scraped.headers.get('content-type')).toBe(`${accept}; charset=utf-8`);
    const text = await scraped.text();
    expect(text).toMatch(
      new RegExp(`^gen_ai_server_request_duration_seconds_bucket.* # {trace_id="${caller.trace_id}"} `, 'm'),
    );
    expect(text).toMatch(/^# TYPE sluice_requests counter\nsluice_requests_total{/m);
    expect(text.endsWith('# EOF\n')).toBe(true);
    const plain = await (await fetch(`${adminUrl}/metrics`)).text();
    expect(plain).not.toContain(caller.trace_id);

    expect(receiver.lastRequest?.path).toBe(path);
    expect(receiver.lastRequest?.headers).toMatchObject({
      'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
      ...(path === '/own/path' && { 'x-tenant': 'blue', 'content-encoding': 'gzip' }),
    });
    await until(async () => (await counted(sidecar!, 'sluice_spans_sent_total')) === receiver.spans.length);
    expect(await counted(sidecar!, 'sluice_spans_dropped_total{reason="failed"}')).toBe(0);
  },
);

it('loses and counts spans, but no exchange, when a collector refuses them, and limits their attributes as the environment says', async () => {
  receiver.status = 400;
  const started = await exchangeWith({
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '2',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=edge,service.version=7',
  });
  await until(async () => (await counted(started, 'sluice_spans_dropped_total{reason="failed"}')) >= 7);
  expect(await counted(started, 'sluice_spans_sent_total')).toBe(0);
  receiver.status = 200;
  await fetch(`${started.url}/v1/models`);
  await until(
    () => serverSpan() !== undefined && receiver.spans.some(({ name }) => name.startsWith('stage ')),
  );
  expect(await counted(started, 'sluice_spans_sent_total')).toBeGreaterThan(0);
  expect(serverSpan()!.resource).toMatchObject({ 'service.name': 'edge', 'service.version': '7' });
  // Those of stages included.
  for (const { attributes } of receiver.spans) expect(Object.keys(attributes).length).toBeLessThan(3);
});

it('still passes traces on to the upstream that the environment leaves out of the sample, and warns of exporters that it does not have', async () => {
  const unused = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' };
  await exchangeWith({ OTEL_TRACES_SAMPLER: 'always_off', ...unused }, { headers: { traceparent } });
  expect(simulator.requests.at(-1)!.headers.traceparent).toMatch(
    /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-00$/,
  );
  await sidecar!.stop();
  expect(receiver.spans).toEqual([]);
  expect(sidecar!.output().match(/"level":40,.*"why":"OTEL_\w+ is 'otlp', but/g)).toHaveLength(2);
});

it('answers requests, and ends in time with 0, when its collector never answers', async () => {
  const connections: Socket[] = [];
  const silent = createServer(socket => void connections.push(socket.on('error', () => {})));
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve));
  const { stop } = await exchangeWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  });
  const begun_ms = performance.now();
  expect(await stop()).toBe(0);
  // The last spans have 5 s, the rest is for a busy machine: the exporters alone would go on for half a minute.
  expect(performance.now() - begun_ms).toBeLessThan(9000);
  expect(connections).not.toEqual([]);
  for (const socket of connections) socket.destroy();
  silent.close();
});
