import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { registerTraceMetrics } from '../../src/telemetry/span-metrics.ts';
import { ask, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';
import { startTlsProxy } from './tls-proxy.ts';

const secret = `whsec_${Buffer.alloc(32, 'a').toString('base64')}`;

/** A gateway that exercises every metric: two providers of which one fails, queues, and limits that reject. */
export interface FaultyService {
  readonly gateway: GatewayUnderTest;
  /** Sends valid and faulty requests until `ended` is aborted. */
  load(ended: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export async function startFaultyService(): Promise<FaultyService> {
  const simulators = await Promise.all([
    startSimulator({ api_key: null, fail_rate: 0.3, tokens_per_second: 400 }),
    startSimulator({ api_key: null, tokens_per_second: 400, cached_tokens: 0.5 }),
  ]);
  // A proxy with a certificate that will have to be renewed.
  const tls = await startTlsProxy(simulators[1].url, new Date(Date.now() + 60 * 86_400_000));
  const registry = new Registry();
  // As in a process that sends traces, of which there is but one set.
  registerTraceMetrics(registry, async () => 0);
  const gateway = await startGateway({
    upstream: simulators[1].url,
    config: configOf(simulators[0].url, tls.url),
    options: { registry },
  });
  return {
    gateway,
    load: ended => load(gateway, ended),
    async close() {
      await gateway.close();
      tls.close();
      await Promise.all(simulators.map(simulator => simulator.close()));
    },
  };
}

function configOf(flaky: string, sound: string): Partial<GatewayConfig> {
  const breaker = { consecutive_failures: 1, open_ms: 300, probes: 1, ramp_ms: 100 };
  const upstreams = ['flaky', 'sound'].map((provider, at) => ({ provider, model: 'm', priority: at + 1 }));
  return {
    server: { port: 0, unready_ms: 0, non_stream_timeout_ms: 1500 },
    metrics: { account_label: true },
    // No server listens on this port, so this instance enforces its limits alone.
    stores: { state: 'redis://127.0.0.1:9', on_state_store_down: { default: 'local' } },
    providers: {
      flaky: { adapter: 'vllm', base_url: flaky, max_concurrent: 1, max_queue: 4, breaker },
      sound: { adapter: 'openai', base_url: sound },
    },
    models: defaultModels('flaky').map((model, at) => ({
      ...model,
      upstreams,
      ...(at === 1 && { fallbacks: { unavailable: ['aion-labs/aion-3.0'] } }),
    })),
    // Nobody listens there either.
    notices: { webhooks: { nobody: { url: 'http://127.0.0.1:9/', secrets: [secret] } }, poll_ms: 500 },
    plans: { small: { requests_per_minute: 20, tokens_per_day: 1_000_000 } },
    accounts: {
      tester: { keys: [{ value: 'sk-client-key-0123456789' }] },
      limited: { plan: 'small', keys: [{ value: 'sk-limited-key-0123456789' }] },
    },
  } as Partial<GatewayConfig>;
}

async function load({ post }: GatewayUnderTest, ended: AbortSignal): Promise<void> {
  const limited = { headers: { authorization: 'Bearer sk-limited-key-0123456789' } };
  const requests: (() => Promise<Response>)[] = [
    () => post(ask('Tell me something.', { stream: true })),
    () =>
      post(
        ask('Tell me something else.', { stream: true, stream_options: { continuous_usage_stats: true } }),
      ),
    () => post(ask('Tell me all at once.')),
    () => post(ask('Fail everywhere [[sim:status=503]]')),
    () => post(ask('Fail with this model [[sim:status=503]]', { model: 'aion-labs/aion-3.5-mini' })),
    () => post(ask('Break off [[sim:reset_after=3]]', { stream: true })),
    () => post(ask('End oddly [[sim:finish=repetition]]')),
    () => post(ask('Fail after the end [[sim:error=1000]]', { stream: true })),
    () => post(ask('Take too long [[sim:ttft=2500]]')),
    () => post(ask('Not so', { temperature: 9 })),
    () => post(ask('Not with this model', { model: 'no/such' })),
    () => post(ask('As one of few', { max_tokens: 5 }), limited),
    () => post(ask('As one of few, again', { max_tokens: 5 }), limited),
  ];
  for (let at = 0; !ended.aborted; at++) {
    const request = requests[at % requests.length]!;
    void request()
      .then(response => response.text())
      .catch(() => {});
    if (at % 20 === 0) leave(post);
    await sleep(25);
  }
}

/** A client that disconnects in the middle of its stream. */
function leave(post: GatewayUnderTest['post']): void {
  const { signal, abort } = leaving();
  post(ask('Never mind', { stream: true }), { signal })
    .then(async response => {
      await response.body?.getReader().read();
      abort();
    })
    .catch(() => {});
}

function leaving() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
