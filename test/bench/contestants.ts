import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { freePort } from '../support/free-port.ts';
import { api_key, batch } from './conversation.ts';
import { gateway_core, load_core } from './machine.ts';
import { start, startOwn } from './processes.ts';
import type { TaskName } from './request-load.ts';
import { tunings } from './tunings.ts';

/** A gateway that runs. */
export interface Gateway {
  readonly port: number;
  /** Without it there is nothing whose CPU could be read. */
  readonly pid?: number;
  /** Request headers that it needs. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Place {
  /** For configurations; removed at the end. */
  readonly directory: string;
  readonly upstream: Gateway & { readonly pid: number };
}

/** A gateway or proxy between the load generator and the upstream. */
export interface Contestant {
  /** Name for `--only`. */
  readonly name: string;
  readonly title: string;
  readonly task?: TaskName;
  /** How a stream is asked for; none are measured without it. */
  readonly streamed?: { readonly stream_options?: object; readonly frame_events: number };
  /** Throws an Error that says why it cannot take part. */
  start(place: Place): Promise<Gateway>;
}

/** Contestants that are compared with the first one named `baseline`. */
export interface Table {
  readonly title: string;
  readonly baseline: string;
  readonly contestants: readonly Contestant[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const servers = join(root, 'test/bench/servers.ts');
/** A proxy passes on what the client asks for, so the client asks for what sluice does unasked: usage on every chunk. */
const proxied = { stream_options: { include_usage: true, continuous_usage_stats: true }, frame_events: 3 };
const final = { frame_events: 2 };
const continuous = { stream_options: { continuous_usage_stats: true }, frame_events: 2 };

const direct: Contestant = {
  name: 'direct',
  title: 'no gateway (reference)',
  start: async ({ upstream: { port } }) => ({ port }),
};

const proxy = (task: TaskName = 'chat'): Contestant => ({
  name: task === 'chat' ? 'http-proxy-middleware' : `http-proxy-middleware-${task}`,
  title: 'http-proxy-middleware in Express',
  task,
  ...(task === 'chat' && { streamed: proxied }),
  start: ({ upstream }) => startOwn(gateway_core, servers, ['proxy', `http://127.0.0.1:${upstream.port}`]),
});

/** A gateway without a frame: what the work itself costs. */
const spike: Contestant = {
  name: 'spike',
  title: 'written by hand',
  streamed: { frame_events: 3 },
  start: ({ upstream }) =>
    startOwn(gateway_core, join(root, 'test/bench/spike.ts'), [`http://127.0.0.1:${upstream.port}`]),
};

/** `proxy_pass`: what a proxy costs that is written in C and looks at nothing. */
const nginx: Contestant = {
  name: 'nginx',
  title: 'nginx `proxy_pass`',
  streamed: proxied,
  async start({ directory, upstream }) {
    const binary = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'].find(existsSync);
    if (!binary) throw new Error('nginx is not installed');
    const port = await freePort();
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${directory}/${name};`,
    );
    const endless = 'keepalive_requests 1000000000; keepalive_timeout 1h;';
    writeFileSync(
      join(directory, 'nginx.conf'),
      `daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr error; events { worker_connections 8192; }
http { access_log off; ${endless} ${paths.join(' ')}
  upstream inference { server 127.0.0.1:${upstream.port}; keepalive 1024; ${endless} }
  server { listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://inference; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }`,
    );
    const { pid } = start(gateway_core, binary, ['-p', directory, '-c', join(directory, 'nginx.conf')]);
    return { port, pid };
  },
};

/** Another gateway on Node, fetched from npm into the user's cache the first time: never a dependency of this repository. */
const portkey: Contestant = {
  name: 'portkey',
  title: 'Portkey gateway 1.15.2',
  streamed: proxied,
  async start({ upstream }) {
    const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
    const home = join(cache, 'sluice-bench', 'portkey-1.15.2');
    const server = join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js');
    if (!existsSync(server)) {
      mkdirSync(home, { recursive: true });
      const dependencies = { '@portkey-ai/gateway': '1.15.2' };
      // With later versions of the server below it every streamed reply is a 500: response headers have become immutable.
      const overrides = { '@hono/node-server': '1.14.1' };
      writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
      install(home, '--ignore-scripts');
    }
    const port = await freePort();
    const { pid } = start(gateway_core, process.execPath, [server, `--port=${port}`, '--headless']);
    const custom_host = `http://127.0.0.1:${upstream.port}/v1`;
    return { port, pid, headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': custom_host } };
  },
};

const install = (cwd: string, ...options: string[]) =>
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...options], { cwd, stdio: 'ignore' });

/** What differs from the usual sidecar. */
interface Difference {
  /** Put over the usual configuration. */
  readonly config?: object;
  readonly variables?: Readonly<Record<string, string>>;
  /** The file that is started in place of the command, and its first arguments. */
  readonly entry?: readonly [string, ...string[]];
}

/** sluice on its own with the whole default chain. */
const sidecar = (
  name: string,
  title: string,
  more: Partial<Contestant> = {},
  differing: (place: Place) => Difference | Promise<Difference> = () => ({}),
): Contestant => ({
  name,
  title,
  ...more,
  async start(place) {
    const { config, variables, entry = [join(root, 'bin/sluice.cjs')] } = await differing(place);
    const [file, ...args] = entry;
    return startOwn(gateway_core, file, [...args, '--config', configFile(place, name, config)], variables);
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

const sluice = sidecar('sluice', 'sluice sidecar', { streamed: final });
const mounted: Contestant = {
  name: 'sluice-express',
  title: 'sluice in Express',
  streamed: final,
  start: place => startOwn(gateway_core, servers, ['gateway', configFile(place, 'sluice-express')]),
};

/** A Redis that keeps nothing, beside the load generator: what it costs itself is not the gateway's. */
async function redis({ directory }: Place): Promise<Difference> {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: directory, save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  await start(load_core, 'redis-server', args).printed(/Ready to accept connections/);
  return { config: { stores: { state: `redis://127.0.0.1:${port}` } } };
}

/** Spans go to a process beside the load generator. */
async function traced(ratio: number): Promise<Difference> {
  const { port } = await startOwn(load_core, servers, ['spans']);
  const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: String(ratio) };
  return { variables: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, ...sampler } };
}

const passing = (task: TaskName, texts: number): Contestant =>
  sidecar(`sluice-${task}`, `sluice \`passthrough\`, ${texts} a call`, { task }, () => ({
    config: { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] },
  }));

/** Another commit of this repository, checked out beside the configurations; its own dependencies if they differ. */
const commitOf = (commit: string): Contestant =>
  sidecar('sluice-against', `sluice ${commit}`, { streamed: final }, ({ directory }) => {
    const tree = join(directory, 'against');
    const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' });
    git('worktree', 'add', '--detach', '--force', tree, commit);
    process.once('exit', () => git('worktree', 'remove', '--force', tree));
    const lock = (from: string) => readFileSync(join(from, 'package-lock.json'), 'utf8');
    if (lock(tree) === lock(root)) symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    else install(tree, '--no-save');
    const commands = ['bin/sluice.cjs', 'src/cli/sidecar.ts', 'src/sidecar.ts'].map(file => join(tree, file));
    return { entry: [commands.find(existsSync)!] };
  });

/** Every table by its name for `--tables`. `against` adds another commit to the first. */
export const tablesOf = (against: string | undefined): Readonly<Record<string, Table>> => ({
  gateways: {
    title: 'Gateways',
    baseline: 'http-proxy-middleware',
    contestants: [
      direct,
      nginx,
      proxy(),
      portkey,
      ...(against ? [commitOf(against)] : []),
      sluice,
      sidecar('sluice-continuous', 'sluice sidecar, `continuous_usage_stats`', { streamed: continuous }),
      mounted,
    ],
  },
  passthrough: {
    title: 'Pass-through of `POST /v1/embeddings`',
    baseline: 'http-proxy-middleware-embeddings',
    contestants: [proxy('embeddings'), passing('embeddings', 1)],
  },
  batches: {
    title: `Pass-through of \`POST /v1/embeddings\`, ${batch} texts a call`,
    baseline: 'http-proxy-middleware-embeddings-batch',
    contestants: [proxy('embeddings-batch'), passing('embeddings-batch', batch)],
  },
  parts: {
    title: 'Parts of sluice',
    baseline: 'sluice',
    contestants: [
      sluice,
      spike,
      sidecar('frame', 'only the error envelope', { streamed: final }, () => ({
        config: { stages: ['error-envelope'], plans: {}, accounts: {}, server: { port: 0, open: true } },
      })),
      sidecar('no-limits', 'no limits', {}, () => ({ config: { plans: { bench: {} } } })),
      sidecar('redis', 'limits in Redis', {}, redis),
      sidecar('traced-10', 'tracing, 10 % sampled', {}, () => traced(0.1)),
      sidecar('traced', 'tracing, every exchange', {}, () => traced(1)),
    ],
  },
  tuning: {
    title: 'Pieces tuned by hand, each without it',
    baseline: 'sluice',
    contestants: [
      sluice,
      ...Object.entries(tunings).map(([name, { title }]) =>
        sidecar(`without-${name}`, `without ${title}`, { streamed: final }, () => ({
          entry: [join(root, 'test/bench/tunings.ts'), name],
        })),
      ),
    ],
  },
});
