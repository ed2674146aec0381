import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { freePort } from '../support/free-port.ts';
import { api_key, batch } from './conversation.ts';
import type { TaskName } from './generator.ts';
import { type Child, gateway_core, load_core, start, startOwn } from './processes.ts';
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
  readonly upstream_port: number;
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
/** A proxy passes on what the client asks for, so the client asks for what sluice does unasked: usage on every chunk. */
const proxied = { stream_options: { include_usage: true, continuous_usage_stats: true }, frame_events: 3 };
const final = { frame_events: 2 };
const continuous = { stream_options: { continuous_usage_stats: true }, frame_events: 2 };

const direct: Contestant = {
  name: 'direct',
  title: 'no gateway (reference)',
  start: async ({ upstream_port }) => ({ port: upstream_port }),
};

const proxy = (task: TaskName = 'chat', texts = ''): Contestant => ({
  name: task === 'chat' ? 'http-proxy-middleware' : `http-proxy-middleware-${task}`,
  title: `http-proxy-middleware in Express${texts}`,
  task,
  ...(task === 'chat' && { streamed: proxied }),
  start: ({ upstream_port }) =>
    started(startOwn(gateway_core, 'apps.ts', ['proxy', `http://127.0.0.1:${upstream_port}`])),
});

const started = async (child: Child): Promise<Gateway> => ({
  ...(await child.message<{ port: number }>()),
  pid: child.pid,
});

/** A gateway without a frame: what the work itself costs. */
const spike: Contestant = {
  name: 'spike',
  title: 'written by hand',
  streamed: { frame_events: 3 },
  start: ({ upstream_port }) =>
    started(startOwn(gateway_core, 'spike.ts', [`http://127.0.0.1:${upstream_port}`])),
};

/** `proxy_pass`: what a proxy costs that is written in C and looks at nothing. */
const nginx: Contestant = {
  name: 'nginx',
  title: 'nginx `proxy_pass`',
  streamed: proxied,
  async start({ directory, upstream_port }) {
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
  upstream inference { server 127.0.0.1:${upstream_port}; keepalive 1024; ${endless} }
  server { listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://inference; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }`,
    );
    return {
      port,
      pid: start(gateway_core, binary, ['-p', directory, '-c', join(directory, 'nginx.conf')]).pid,
    };
  },
};

/** Another gateway on Node, fetched from npm into the user's cache the first time: never a dependency of this repository. */
const portkey: Contestant = {
  name: 'portkey',
  title: 'Portkey gateway 1.15.2',
  streamed: proxied,
  async start({ upstream_port }) {
    const home = join(
      process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
      'sluice-bench',
      'portkey-1.15.2',
    );
    const server = join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js');
    if (!existsSync(server)) {
      mkdirSync(home, { recursive: true });
      const dependencies = { '@portkey-ai/gateway': '1.15.2' };
      // With later versions of the server below it every streamed reply is a 500: response headers have become immutable.
      const overrides = { '@hono/node-server': '1.14.1' };
      writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
      execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
        cwd: home,
        stdio: 'ignore',
      });
    }
    const port = await freePort();
    const { pid } = start(gateway_core, process.execPath, [server, `--port=${port}`, '--headless']);
    const custom_host = `http://127.0.0.1:${upstream_port}/v1`;
    return { port, pid, headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': custom_host } };
  },
};

interface Difference {
  /** Put over the usual configuration. */
  readonly config?: object;
  readonly variables?: Readonly<Record<string, string>>;
  /** The checkout whose sources are run. */
  readonly tree?: string;
  /** The file that is started in place of the command. */
  readonly entry?: readonly string[];
}

/** sluice on its own with the whole default chain. */
const sidecar = (
  contestant: Pick<Contestant, 'name' | 'title'> & Partial<Contestant>,
  differing: (place: Place) => Difference | Promise<Difference> = () => ({}),
): Contestant => ({
  ...contestant,
  async start(place) {
    const { config, variables, tree = root, entry = ['bin/sluice.cjs'] } = await differing(place);
    const [file = '', ...args] = entry;
    const command = [
      '--conditions=sluice-source',
      join(tree, file),
      ...args,
      '--config',
      configFile(place, contestant.name, config),
    ];
    const child = start(gateway_core, process.execPath, command, variables);
    const [, port] = await child.printed(/listening on http:\/\/127\.0\.0\.1:(\d+)/);
    return { port: Number(port), pid: child.pid };
  },
});

/** As in production: a key, logs from `warn` on, an account whose plan has every limit, each too high to be reached. */
function configFile({ directory, upstream_port }: Place, name: string, changes: object = {}): string {
  const file = join(directory, `${name}.json`);
  const never = 1_000_000_000_000;
  const tokens = { tokens_per_minute: never, tokens_per_day: never };
  const plan = {
    requests_per_minute: 1_000_000_000,
    ...tokens,
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

const sluice = sidecar({ name: 'sluice', title: 'sluice sidecar', streamed: final });
const mounted: Contestant = {
  name: 'sluice-express',
  title: 'sluice in Express',
  streamed: final,
  start: place =>
    started(startOwn(gateway_core, 'apps.ts', ['gateway', configFile(place, 'sluice-express')])),
};

/** A Redis that keeps nothing, beside the load generator: what it costs itself is not the gateway's. */
async function redis({ directory }: Place): Promise<Difference> {
  const port = await freePort();
  const network = ['--port', String(port), '--bind', '127.0.0.1'];
  await start(load_core, 'redis-server', [
    ...network,
    '--dir',
    directory,
    '--save',
    '',
    '--appendonly',
    'no',
  ]).printed(/Ready to accept connections/);
  return { config: { stores: { state: `redis://127.0.0.1:${port}` } } };
}

/** Spans are taken and forgotten by a process beside the load generator. */
async function traced(ratio: number): Promise<Difference> {
  const { port } = await startOwn(load_core, 'span-sink.ts').message<{ port: number }>();
  const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: String(ratio) };
  return { variables: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, ...sampler } };
}

const passing = (task: TaskName, texts: number): Contestant =>
  sidecar({ name: `sluice-${task}`, title: `sluice \`passthrough\`, ${texts} a call`, task }, () => ({
    config: { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] },
  }));

/** Another commit of this repository, checked out beside the configurations; its own dependencies if they differ. */
function commitOf(commit: string): Contestant {
  return sidecar({ name: 'sluice-against', title: `sluice ${commit}`, streamed: final }, ({ directory }) => {
    const tree = join(directory, 'against');
    const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' });
    git('worktree', 'add', '--detach', '--force', tree, commit);
    process.once('exit', () => git('worktree', 'remove', '--force', tree));
    const lock = (from: string) => readFileSync(join(from, 'package-lock.json'), 'utf8');
    if (lock(tree) === lock(root)) symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    else
      execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-save'], {
        cwd: tree,
        stdio: 'ignore',
      });
    const entry = ['bin/sluice.cjs', 'src/cli/sidecar.ts', 'src/sidecar.ts'].find(file =>
      existsSync(join(tree, file)),
    )!;
    return { tree, entry: [entry] };
  });
}

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
      sidecar({
        name: 'sluice-continuous',
        title: 'sluice sidecar, `continuous_usage_stats`',
        streamed: continuous,
      }),
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
      sidecar({ name: 'frame', title: 'only the error envelope', streamed: final }, () => ({
        config: { stages: ['error-envelope'], plans: {}, accounts: {}, server: { port: 0, open: true } },
      })),
      sidecar({ name: 'no-limits', title: 'no limits' }, () => ({ config: { plans: { bench: {} } } })),
      sidecar({ name: 'redis', title: 'limits in Redis' }, redis),
      sidecar({ name: 'traced-10', title: 'tracing, 10 % sampled' }, () => traced(0.1)),
      sidecar({ name: 'traced', title: 'tracing, every exchange' }, () => traced(1)),
    ],
  },
  tuning: {
    title: 'Pieces tuned by hand, each without it',
    baseline: 'sluice',
    contestants: [
      sluice,
      ...Object.entries(tunings).map(([name, { title }]) =>
        sidecar({ name: `without-${name}`, title: `without ${title}`, streamed: final }, () => ({
          entry: ['test/bench/untuned.ts', name],
        })),
      ),
    ],
  },
});
