import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultModels } from '../../../src/catalog/default-models.ts';
import { gateway_core, type Variables } from '../children.ts';
import { api_key } from '../conversation.ts';
import type { TaskName } from '../tasks.ts';
import type { Contestant, StreamVariant, Surroundings } from './contestant.ts';
import { versionIn, versionOf } from './package-version.ts';
import { redisFor } from './redis.ts';
import { traceSink } from './tracing.ts';

const root = new URL('../../../', import.meta.url);
const final: StreamVariant = { suffix: '', stream_options: undefined, frame_events: 2 };
const continuous: StreamVariant = {
  suffix: ', `continuous_usage_stats`',
  stream_options: { continuous_usage_stats: true },
  frame_events: 2,
};

/** How a sidecar differs from the usual one. */
interface Difference {
  /** Put over its configuration. */
  readonly config?: object;
  readonly variables?: Variables;
  spans?(): Promise<number>;
}

/** sluice on its own with the whole default chain. */
const sidecarWith = (
  contestant: Pick<Contestant, 'name' | 'title'> & Partial<Contestant>,
  differing: (surroundings: Surroundings) => Difference | Promise<Difference> = () => ({}),
): Contestant => ({
  task: 'chat',
  streamed: [],
  ...contestant,
  async start(surroundings) {
    const { config, variables, spans } = await differing(surroundings);
    const sidecar = fileURLToPath(new URL('src/cli/sidecar.ts', root));
    const file = configFile(surroundings, contestant.name, config);
    const args = ['--conditions=sluice-source', sidecar, '--config', file];
    const child = surroundings.children.start(gateway_core, process.execPath, args, variables);
    const [, port] = await child.printed(/listening on http:\/\/127\.0\.0\.1:(\d+)/);
    return { port: Number(port), pid: child.pid, version: sluiceVersion(), ...(spans && { spans }) };
  },
});

export const sluiceSidecar = sidecarWith({
  name: 'sluice',
  title: 'sluice sidecar',
  streamed: [final, continuous],
});

export const sluiceWithoutLimits = sidecarWith(
  { name: 'sluice-no-limits', title: 'sluice sidecar, no limits' },
  () => ({ config: { plans: { bench: {} } } }),
);

/** With limits that several instances share. */
export const sluiceWithRedis = sidecarWith(
  { name: 'sluice-redis', title: 'sluice sidecar, limits in Redis' },
  async surroundings => ({ config: { stores: { state: await redisFor(surroundings) } } }),
);

/** Every exchange is traced, and every span sent. */
export const sluiceTraced = sidecarWith(
  { name: 'sluice-traced', title: 'sluice sidecar, every exchange traced' },
  traceSink,
);

/** OpenTelemetry's SDK is there, and samples nothing. */
export const sluiceUnsampled = sidecarWith(
  { name: 'sluice-unsampled', title: 'sluice sidecar, no exchange sampled' },
  async surroundings => {
    const { variables } = await traceSink(surroundings);
    return { variables: { ...variables, OTEL_TRACES_SAMPLER: 'always_off' } };
  },
);

/** A path that is let through, behind the same key, limits, metrics and error envelope. */
const passing = (name: string, task: TaskName): Contestant =>
  sidecarWith({ name, title: 'sluice sidecar, `passthrough`', task }, () => ({
    config: { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] },
  }));

export const sluicePassthrough = passing('sluice-passthrough', 'embeddings');
export const sluicePassthroughOfBatches = passing('sluice-passthrough-batch', 'embeddings-batch');

/** The same chain as a handler of an Express application. */
export const sluiceInExpress: Contestant = {
  name: 'sluice-express',
  title: 'sluice in Express',
  task: 'chat',
  streamed: [final],
  async start(surroundings) {
    const args = [configFile(surroundings, 'sluice-express')];
    const child = surroundings.children.startOwn(gateway_core, 'contestants/sluice-app.ts', args);
    const { port } = (await child.message()) as { port: number };
    return { port, pid: child.pid, version: `${sluiceVersion()}, Express ${versionOf('express')}` };
  },
};

/** As in production: a key, logs from `warn` on, an account whose plan has every limit, each too high to be reached. */
function configFile({ directory, upstream_port }: Surroundings, name: string, changes: object = {}): string {
  const file = join(directory, `${name}.json`);
  const never = 1_000_000_000_000;
  const plan = {
    // What is left is told in every reply, as a number that could be an operator's.
    requests_per_minute: 1_000_000_000,
    tokens_per_minute: never,
    tokens_per_day: never,
    concurrent_requests: never,
    usd_per_month: 9_000_000,
  };
  const config = {
    server: { port: 0 },
    admin: { port: 0 },
    log: { level: 'warn' },
    providers: { upstream: { adapter: 'vllm', base_url: `http://127.0.0.1:${upstream_port}/v1` } },
    models: defaultModels('upstream'),
    plans: { bench: plan },
    accounts: { bench: { plan: 'bench', keys: [{ value: api_key }] } },
    ...changes,
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** With the commit, and a mark if the sources differ from it. */
function sluiceVersion(): string {
  const version = versionIn(new URL('package.json', root));
  try {
    const args = ['describe', '--always', '--dirty=+', '--exclude=*'];
    const commit = execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    return `${version} (${commit.trim()})`;
  } catch {
    return version;
  }
}
