import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v8Flags } from '../../../src/cli/v8-flags.ts';
import { defaultModels } from '../../../src/config/example-models.ts';
import { freePort } from '../../support/free-port.ts';
import { gateway_core, load_core } from '../machine.ts';
import { bare, root, start, startServer } from '../processes.ts';
import { type Contestant, type Place, servers } from './contestants.ts';
import { api_key } from './conversation.ts';

/** What differs from the usual sidecar. */
interface Difference {
  /** Put over the usual configuration. */
  readonly config?: object;
  readonly variables?: Readonly<Record<string, string>>;
}

const command = join(root, 'bin/sluice.cjs');

/** sluice on its own with the whole default chain. */
const sidecar = (
  name: string,
  title: string,
  differing: (place: Place) => Difference | Promise<Difference> = () => ({}),
  core: number | string = gateway_core,
): Contestant => ({
  name,
  title,
  streamed: { frame_events: 2 },
  async start(place) {
    const { config, variables } = await differing(place);
    const args = ['--config', configFile(place, name, config)];
    return startServer(command, args, { core, env: bare(variables) });
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
/** What is left with every other stage taken out. */
export const envelope = sidecar('sluice-envelope', 'sluice sidecar, `error-envelope` alone', place =>
  parts.envelope!(place),
);
export const continuous = {
  ...sidecar('sluice-continuous', 'sluice sidecar, `continuous_usage_stats`'),
  streamed: { stream_options: { continuous_usage_stats: true }, frame_events: 2 },
};
const twoWorkers = () => ({ config: { server: { port: 0, workers: 2 } } });
export const workersOnOneCore = sidecar('workers-1', 'two workers on its core', twoWorkers);
export const workersOnTwoCores = sidecar(
  'workers-2',
  'two workers on two cores, one of them the load’s',
  twoWorkers,
  `${gateway_core},${load_core}`,
);
const inExpress = (name: string, title: string, flags: readonly string[] = []): Contestant => ({
  ...sidecar(name, title),
  start: place =>
    startServer(servers, ['gateway', configFile(place, name)], { core: gateway_core, env: bare(), flags }),
});
export const mounted = inExpress('sluice-express', 'sluice in Express');
export const mountedWithFlags = inExpress(
  'sluice-express-v8',
  'sluice in Express, with the sidecar’s options of V8',
  v8Flags,
);

/** The sidecar by what is left out of it, or added: what each part costs. */
export const parts: Readonly<Record<string, (place: Place) => Difference | Promise<Difference>>> = {
  whole: () => ({}),
  'no-limits': () => ({ config: { plans: { bench: {} } } }),
  envelope: () => ({
    config: { stages: ['error-envelope'], plans: {}, accounts: {}, server: { port: 0, open: true } },
  }),
  sqlite: ({ directory }) => ({ config: { stores: { records: `sqlite:${join(directory, 'parts.db')}` } } }),
  redis: async place => ({ config: { stores: { state: await startRedis(place) } } }),
  'traced-0': () => tracing(0),
  'traced-10': () => tracing(0.1),
  traced: () => tracing(1),
};

/** Starts the sidecar with one of its parts changed, under options of Node. */
export async function startPart(name: string, place: Place, flags: readonly string[]) {
  const { config, variables } = await parts[name]!(place);
  const args = ['--config', configFile(place, name, config)];
  return startServer(command, args, { env: bare(variables), flags });
}

/** A Redis that keeps nothing. */
async function startRedis({ directory }: Place): Promise<string> {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: directory, save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  await start('redis-server', args).printed(/Ready to accept connections/);
  return `redis://127.0.0.1:${port}`;
}

/** Spans of a share of the exchanges go to a process that forgets them. */
async function tracing(ratio: number): Promise<Difference> {
  const { url } = await startServer(servers, ['spans']);
  const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: `${ratio}` };
  return { variables: { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...sampler } };
}
