import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/catalog/default-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { version } from '../../src/version.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const caller = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' };
const [server, client] = [2, 3];
let receiver: OtlpReceiver;
let simulator: Simulator;
let sidecar: SidecarProcess;

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

async function start(protocol: string): Promise<void> {
  receiver = await startOtlpReceiver();
  simulator = await startSimulator({ api_key: null });
  sidecar = await startSidecar(failingFirst(sidecarConfig(simulator.url, { log: { level: 'info' } })), {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });
}

async function stop(): Promise<void> {
  await sidecar.stop();
  await simulator.close();
  receiver.close();
}

const sampling = {
  ...{ max_tokens: 40, temperature: 0.5, top_p: 0.9, seed: 7, stop: ['never said'] },
  response_format: { type: 'text' },
};

/** The spans of one streamed exchange below `caller`. */
async function spansOfExchange(content: string): Promise<readonly ReceivedSpan[]> {
  receiver.spans.length = 0;
  const response = await fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${clientKey}`,
      'content-type': 'application/json',
      'user-agent': 'a client/1.0',
      traceparent: `00-${caller.trace_id}-${caller.span_id}-01`,
      tracestate: 'vendor=1',
      baggage: 'customer=acme',
    },
    body: JSON.stringify(ask(content, { stream: true, ...sampling })),
  });
  await response.text();
  await until(() => receiver.spans.some(({ kind }) => kind === server));
  return receiver.spans;
}

/** Written here, and by OpenTelemetry's own exporter. */
describe.each(['http/protobuf', 'http/json'])('a trace that a collector receives by %s', protocol => {
  beforeAll(() => start(protocol));
  afterAll(stop);

  it('is one tree below the caller, with every stage and both attempts of a retry', async () => {
    const spans = await spansOfExchange('Hello, my secret is safe.');
    const root = spans.find(({ kind }) => kind === server)!;
    expect(root).toMatchObject({
      name: 'POST /v1/chat/completions',
      parent_id: caller.span_id,
      failed: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/chat/completions',
        'http.response.status_code': 200,
        'url.path': '/v1/chat/completions',
        'url.scheme': 'http',
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(sidecar.url).port),
        'client.address': '127.0.0.1',
        'network.protocol.version': '1.1',
        'user_agent.original': 'a client/1.0',
        'sluice.end_reason': 'completed',
        'sluice.model': 'aion-labs/aion-3.5',
        'sluice.attempts': 2,
        'sluice.account': 'tester',
      },
    });
    expect(root.attributes['sluice.request_id']).toMatch(/^req_/);
    for (const { scope, resource } of spans) {
      expect(scope).toEqual({
        name: 'sluice',
        version,
        schema_url: 'https://opentelemetry.io/schemas/1.44.0',
      });
      expect(resource).toMatchObject({
        'service.name': 'sluice',
        'service.version': version,
        'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
        'deployment.environment.name': 'test',
      });
    }
    expect(root.events).toEqual(
      ['retry', 'commit', 'first_token'].sort((a, b) => root.events.indexOf(a) - root.events.indexOf(b)),
    );
    expect(new Set(spans.map(({ trace_id }) => trace_id))).toEqual(new Set([caller.trace_id]));
    const below = spans.filter(span => span !== root);
    expect(new Set(below.map(({ parent_id }) => parent_id))).toEqual(new Set([root.span_id]));
    const stages = [
      'auth',
      'validation',
      'rate-limit',
      'request-rewrite',
      'stream-rechunk',
      'reasoning-split',
    ];
    for (const stage of stages) expect(below.map(({ name }) => name)).toContain(`stage ${stage}`);
    const attempts = below.filter(({ kind }) => kind === client);
    expect(attempts.map(({ name, failed }) => [name, failed])).toEqual([
      ['chat m', true],
      ['chat aion-3.5', false],
    ]);
    expect(attempts[0]!.attributes).toMatchObject({
      'error.type': 'unreachable',
      'sluice.attempt': 1,
      'sluice.provider': 'broken',
    });
    expect(attempts[1]!.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'vllm',
      'gen_ai.request.model': 'aion-3.5',
      'gen_ai.request.stream': true,
      'gen_ai.request.reasoning.level': 'high',
      'gen_ai.request.max_tokens': 40,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.seed': 7,
      'gen_ai.request.stop_sequences': ['never said'],
      'gen_ai.output.type': 'text',
      'gen_ai.response.id': expect.stringMatching(/^chatcmpl-/),
      'gen_ai.response.model': 'aion-3.5',
      'gen_ai.response.finish_reasons': [expect.stringMatching(/^(stop|length)$/)],
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
      'gen_ai.usage.cache_read.input_tokens': expect.any(Number),
      'gen_ai.usage.reasoning.output_tokens': expect.any(Number),
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': simulator.port,
      'sluice.provider': 'upstream',
      'sluice.attempt': 2,
      'sluice.wait_ms': 0,
    });
    expect(attempts[1]!.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0);
    const asked = below.find(({ name }) => name === 'stage validation')!;
    expect(asked.attributes).toEqual({
      'sluice.stage': 'validation',
      'sluice.hook': 'onRequest',
      'sluice.own_ms': expect.any(Number),
    });
    expect(JSON.stringify(spans)).not.toContain('secret');
  });

  it('goes on at the upstream with the tracestate of the caller, and without its baggage', async () => {
    const spans = await spansOfExchange('Hello.');
    const { headers } = simulator.requests.at(-1)!;
    const attempt = spans.find(({ kind, failed }) => kind === client && !failed)!;
    expect(headers.traceparent).toBe(`00-${caller.trace_id}-${attempt.span_id}-01`);
    expect([headers.tracestate, headers.baggage]).toEqual(['vendor=1', undefined]);
  });

  it('can be found from the log and from the latency histograms', async () => {
    await spansOfExchange('Hello.');
    await until(() => sidecar.output().includes(`"trace_id":"${caller.trace_id}"`));
    const accept = 'application/openmetrics-text; version=1.0.0';
    const scraped = await fetch(`${sidecar.adminUrl}/metrics`, { headers: { accept } });
    expect(scraped.headers.get('content-type')).toBe(
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    );
    const text = await scraped.text();
    expect(text).toMatch(
      new RegExp(`^gen_ai_server_request_duration_seconds_bucket.* # {trace_id="${caller.trace_id}"} `, 'm'),
    );
    expect(text).toMatch(/^# TYPE sluice_requests counter\nsluice_requests_total{/m);
    expect(text.endsWith('# EOF\n')).toBe(true);
    const plain = await (await fetch(`${sidecar.adminUrl}/metrics`)).text();
    expect(plain).not.toContain(caller.trace_id);
  });
});
