import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultModels } from '../../../src/catalog/default-models.ts';
import { gateway_core } from '../children.ts';
import { api_key } from '../conversation.ts';
import type { Contestant, StreamVariant, Surroundings } from './contestant.ts';
import { versionIn, versionOf } from './package-version.ts';
import { redisFor } from './redis.ts';

const root = new URL('../../../', import.meta.url);
const final: StreamVariant = { suffix: '', stream_options: undefined, frame_events: 2 };
const continuous: StreamVariant = {
  suffix: ', `continuous_usage_stats`',
  stream_options: { continuous_usage_stats: true },
  frame_events: 2,
};

type Changes = object | ((surroundings: Surroundings) => object | Promise<object>);

/** sluice on its own with the whole default chain; `changes` are put over its configuration. */
const sidecarWith = (
  contestant: Pick<Contestant, 'name' | 'title' | 'streamed'>,
  changes: Changes = {},
): Contestant => ({
  ...contestant,
  async start(surroundings) {
    const changed = typeof changes === 'function' ? await changes(surroundings) : changes;
    const sidecar = fileURLToPath(new URL('src/sidecar.ts', root));
    const file = configFile(surroundings, contestant.name, changed);
    const args = ['--conditions=sluice-source', sidecar, '--config', file];
    const child = surroundings.children.start(gateway_core, process.execPath, args);
    const [, port] = await child.printed(/listening on http:\/\/127\.0\.0\.1:(\d+)/);
    return { port: Number(port), pid: child.pid, version: sluiceVersion() };
  },
});

export const sluiceSidecar = sidecarWith({
  name: 'sluice',
  title: 'sluice sidecar',
  streamed: [final, continuous],
});

/** What the limits cost is the difference between this and the one above. */
export const sluiceWithoutLimits = sidecarWith(
  { name: 'sluice-no-limits', title: 'sluice sidecar, no limits', streamed: [] },
  { plans: { bench: {} } },
);

/** The same with limits that several instances share. */
export const sluiceWithRedis = sidecarWith(
  { name: 'sluice-redis', title: 'sluice sidecar, limits in Redis', streamed: [] },
  async surroundings => ({ stores: { state: await redisFor(surroundings) } }),
);

/** The same chain as a handler of an Express application. */
export const sluiceInExpress: Contestant = {
  name: 'sluice-express',
  title: 'sluice in Express',
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
    requests_per_minute: never,
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
