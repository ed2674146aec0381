import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultModels } from '../../../src/config/example-models.ts';
import { freePort } from '../../support/free-port.ts';
import { gateway_core, load_core } from '../machine.ts';
import { bare, root, start, startServer } from '../processes.ts';
import { type Contestant, install, type Place, servers } from './contestants.ts';
import { api_key } from './conversation.ts';

/** What differs from the usual sidecar. */
interface Difference {
  /** Put over the usual configuration. */
  readonly config?: object;
  readonly variables?: Readonly<Record<string, string>>;
  /** Another checkout of the repository. */
  readonly tree?: string;
}

/** sluice on its own with the whole default chain. */
const sidecar = (
  name: string,
  title: string,
  differing: (place: Place) => Difference | Promise<Difference> = () => ({}),
): Contestant => ({
  name,
  title,
  streamed: { frame_events: 2 },
  async start(place) {
    const { config, variables, tree = root } = await differing(place);
    const args = ['--config', configFile(place, name, config)];
    return startServer(join(tree, 'bin/sluice.cjs'), args, { core: gateway_core, env: bare(variables) });
  },
});

/** As in production: a key, logs from `warn` on, an account whose plan has every limit, each too high to be reached. */
function configFile({ directory, upstream }: Place, name: string, changes: object = {}): string {
  const file = join(directory, `${name}.json`);
  const never = 1_000_000_000_000;
  const tokens = { tokens_per_minute: never, tokens_per_day: never };
  const requests = { requests_per_minute: 1_000_000_000, concurrent_requests: never };
  const config = {
    server: { port: 0 },
    admin: { port: 0 },
    log: { level: 'warn' },
    providers: { upstream: { adapter: 'vllm', base_url: `http://127.0.0.1:${upstream.port}/v1` } },
    models: defaultModels('upstream'),
    plans: { bench: { ...requests, ...tokens, usd_per_month: 9_000_000 } },
    accounts: { bench: { plan: 'bench', keys: [{ value: api_key }] } },
    ...changes,
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

export const sluice = sidecar('sluice', 'sluice sidecar');
export const continuous = {
  ...sidecar('sluice-continuous', 'sluice sidecar, `continuous_usage_stats`'),
  streamed: { stream_options: { continuous_usage_stats: true }, frame_events: 2 },
};
export const mounted: Contestant = {
  ...sidecar('sluice-express', 'sluice in Express'),
  start: place =>
    startServer(servers, ['gateway', configFile(place, 'sluice-express')], {
      core: gateway_core,
      env: bare(),
    }),
};

/** With a Redis that keeps nothing, beside the load generator: what it costs itself is not the gateway's. */
export const redis = sidecar('redis', 'limits in Redis', async ({ directory }) => {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: directory, save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  await start('redis-server', args, { core: load_core }).printed(/Ready to accept connections/);
  return { config: { stores: { state: `redis://127.0.0.1:${port}` } } };
});

/** Spans go to a process beside the load generator. */
export const traced = (name: string, title: string, ratio: number): Contestant =>
  sidecar(name, title, async () => {
    const { url } = await startServer(servers, ['spans'], { core: load_core });
    const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: `${ratio}` };
    return { variables: { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...sampler } };
  });

/** The sidecar with less and less of its chain, by what is left out: where something has grown, all that have it have grown. */
export const shortened: Readonly<Record<string, { readonly title: string; readonly config: object }>> = {
  whole: { title: 'the whole chain', config: {} },
  'no-limits': { title: 'no limits', config: { plans: { bench: {} } } },
  frame: {
    title: 'only the error envelope',
    config: { stages: ['error-envelope'], plans: {}, accounts: {}, server: { port: 0, open: true } },
  },
};

/** One of them; as it is in `commit`, if one is given. */
export const shortenedSidecar = (name: string, commit?: string): Contestant => {
  const { title, config } = shortened[name]!;
  return sidecar(commit ? `${name}-${commit.slice(0, 8)}` : name, title, place => ({
    config,
    ...(commit && { tree: checkOut(commit, place.directory) }),
  }));
};

/** Checks out another commit of this repository in `directory`, with its own dependencies if they differ. Returns where. */
function checkOut(commit: string, directory: string): string {
  const tree = join(directory, 'against');
  if (existsSync(tree)) return tree;
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' });
  git('worktree', 'add', '--detach', '--force', tree, commit);
  process.once('exit', () => git('worktree', 'remove', '--force', tree));
  const lock = (from: string) => readFileSync(join(from, 'package-lock.json'), 'utf8');
  if (lock(tree) === lock(root)) symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  else install(tree, '--no-save');
  return tree;
}
