import { setTimeout as after } from 'node:timers/promises';
import { stringify } from 'yaml';
import { clientKey } from '../support/gateway-under-test.ts';
import { configFile, sidecarConfig } from '../support/sidecar-process.ts';
import { Load, type Seen } from './outage-load.ts';
import type { OutageOptions } from './outage-options.ts';
import { DyingProvider } from './outage-provider.ts';
import { type GatewayProcess, startGatewayProcess } from './soak-processes.ts';

/** How often is looked. */
export const sample_ms = 100;

/** How things stood at one moment. */
export interface Sample {
  readonly at_ms: number;
  /** Requests that have reached the provider that dies, and the other one. */
  readonly dying: number;
  readonly healthy: number;
  /** Of the breaker of the one that dies. */
  readonly breaker: string;
  readonly failovers: number;
}

/** How long the provider stays dead at most for the breaker to open. */
const open_patience_ms = 20_000;

/** All that a run has shown; times in milliseconds since its beginning. */
export interface OutageFindings {
  readonly seen: Seen;
  readonly samples: readonly Sample[];
  readonly died_ms: number;
  readonly back_ms: number;
  readonly ended_ms: number;
  /** Exchanges that the gateway has recorded as completed, and what it says of its failovers. */
  readonly completed: number;
  readonly failovers: Readonly<Record<string, number>>;
  readonly denied: number;
}

/** When the breaker was first seen open after the death. */
export const openedAfter = (died_ms: number, samples: readonly Sample[]): number | undefined =>
  samples.find(({ at_ms, breaker }) => at_ms > died_ms && breaker === 'open')?.at_ms;

/** Two providers behind a gateway under steady load; one dies and comes back. */
export async function outage(options: OutageOptions): Promise<OutageFindings> {
  const pace = { api_key: null, ttft_ms: 40, tokens_per_second: 200 };
  const [dying, healthy] = [new DyingProvider(pace), new DyingProvider(pace)];
  await Promise.all([dying.start(), healthy.start()]);
  const { file, remove } = await configFile(stringify(configOf(dying.url, healthy.url, options)));
  try {
    const gateway = await startGatewayProcess(file, () => {});
    try {
      return await underLoad(options, gateway, dying, healthy);
    } finally {
      await gateway.stop();
    }
  } finally {
    await Promise.all([dying.end(), healthy.end()]);
    await remove();
  }
}

function configOf(dying: string, healthy: string, { death, open_ms, ramp_ms }: OutageOptions) {
  const limits = death === 'stopped' ? { first_token_timeout_ms: 1000, total_timeout_ms: 2000 } : {};
  const breaker = { open_ms, max_open_ms: 2 * open_ms, ramp_ms };
  const config = sidecarConfig(healthy, { log: { level: 'fatal' } });
  const { upstream } = config.providers;
  return {
    ...config,
    providers: {
      dying: { ...upstream, base_url: dying, breaker, ...limits },
      healthy: { ...upstream, breaker },
    },
    models: config.models.map(model => {
      const [served] = model.upstreams;
      return {
        ...model,
        upstreams: [
          { ...served, provider: 'dying' },
          { ...served, provider: 'healthy' },
        ],
      };
    }),
    accounts: { tester: { keys: [{ value: clientKey }] } },
  };
}

async function underLoad(
  options: OutageOptions,
  gateway: GatewayProcess,
  dying: DyingProvider,
  healthy: DyingProvider,
): Promise<OutageFindings> {
  const load = new Load(gateway.url, options.rate);
  await load.begin();
  const begun_ms = performance.now();
  const since = () => performance.now() - begun_ms;
  const samples: Sample[] = [];
  const sampling = new AbortController();
  const sampled = sample(gateway, dying, healthy, samples, since, sampling.signal);
  await after(options.before_ms);
  const died_ms = since();
  if (options.death === 'killed') await dying.kill();
  else dying.stop();
  await after(options.dead_ms);
  // A slow machine sends less, so that more time passes until enough has failed.
  while (openedAfter(died_ms, samples) === undefined && since() - died_ms < open_patience_ms)
    await after(sample_ms);
  if (options.death === 'killed') await dying.start();
  else dying.resume();
  const back_ms = since();
  await after(options.after_ms);
  await load.end();
  const ended_ms = since();
  sampling.abort();
  await sampled;
  const metrics = await readMetrics(gateway);
  return {
    seen: load.seen,
    samples,
    died_ms,
    back_ms,
    ended_ms,
    completed: sumOf(metrics, 'sluice_requests_total', 'end_reason="completed"'),
    failovers: failoversIn(metrics),
    denied: sumOf(metrics, 'sluice_retries_denied_total'),
  };
}

async function sample(
  gateway: GatewayProcess,
  dying: DyingProvider,
  healthy: DyingProvider,
  samples: Sample[],
  since: () => number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    dying.look();
    healthy.look();
    const metrics = await readMetrics(gateway);
    samples.push({
      at_ms: since(),
      dying: dying.requests,
      healthy: healthy.requests,
      breaker:
        /^sluice_breaker_state\{gen_ai_provider_name="dying",state="(\w+)"\} 1$/m.exec(metrics)?.[1] ?? '',
      failovers: sumOf(metrics, 'sluice_failovers_total'),
    });
    await after(sample_ms, undefined, { signal }).catch(() => {});
  }
}

const readMetrics = async ({ adminUrl }: GatewayProcess): Promise<string> =>
  (await fetch(`${adminUrl}/metrics`)).text();

const linesOf = (metrics: string, name: string): string[] =>
  metrics.split('\n').filter(line => line.startsWith(`${name}{`));

const sampleOf = (line: string): number => Number(line.slice(line.lastIndexOf(' ') + 1));

const sumOf = (metrics: string, name: string, label = ''): number =>
  linesOf(metrics, name)
    .filter(line => line.includes(label))
    .reduce((sum, line) => sum + sampleOf(line), 0);

/** How often, by the kind of failure. */
function failoversIn(metrics: string): Record<string, number> {
  const lines = linesOf(metrics, 'sluice_failovers_total');
  return Object.fromEntries(
    lines.map(line => [/kind="(\w+)"/.exec(line)?.[1] ?? '', sampleOf(line)] as const),
  );
}
