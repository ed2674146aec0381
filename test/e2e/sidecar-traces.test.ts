import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/catalog/default-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
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

/** The spans of one streamed exchange below `caller`. */
async function spansOfExchange(content: string): Promise<readonly ReceivedSpan[]> {
  receiver.spans.length = 0;
  const response = await fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${clientKey}`,
      'content-type': 'application/json',
      traceparent: `00-${caller.trace_id}-${caller.span_id}-01`,
    },
    body: JSON.stringify(ask(content, { stream: true })),
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
      attributes: { 'http.route': '/v1/chat/completions', 'sluice.attempts': 2, 'sluice.account': 'tester' },
      resource: { 'service.name': 'sluice', 'deployment.environment.name': 'test' },
    });
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
    expect(attempts[1]!.attributes).toMatchObject({ 'gen_ai.provider.name': 'vllm' });
    expect(attempts[1]!.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0);
    expect(JSON.stringify(spans)).not.toContain('secret');
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
