import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultModels } from '../../../src/catalog/default-models.ts';
import { garbageFlags } from '../../../src/cli/v8-flags.ts';
import { freePort } from '../../support/free-port.ts';
import { gateway_core, load_core } from '../machine.ts';
import { start, startOwn } from '../processes.ts';
import { type Contestant, install, type Place, root, servers } from './contestants.ts';
import { api_key } from './conversation.ts';
import { type RungName, rungs } from './ladder/rungs.ts';
import type { TaskName } from './request-load.ts';
import { tunings } from './tunings.ts';

export const final = { frame_events: 2 };
export const continuous = { stream_options: { continuous_usage_stats: true }, frame_events: 2 };

/** What differs from the usual sidecar. */
interface Difference {
  /** Put over the usual configuration. */
  readonly config?: object;
  readonly variables?: Readonly<Record<string, string>>;
  /** The file that is started in place of the command, and its first arguments. */
  readonly entry?: readonly [string, ...string[]];
}

/** sluice on its own with the whole default chain. */
export const sidecar = (
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
export function configFile({ directory, upstream }: Place, name: string, changes: object = {}): string {
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

export const sluice = sidecar('sluice', 'sluice sidecar', { streamed: final });
const inExpress = (name: string, title: string, flags: readonly string[] = []): Contestant => ({
  name,
  title,
  streamed: final,
  start: place => startOwn(gateway_core, servers, ['gateway', configFile(place, name)], {}, flags),
});
export const mounted = inExpress('sluice-express', 'sluice in Express');
export const mountedYoung = inExpress(
  'sluice-express-flags',
  "sluice in Express, with the sidecar's options of V8",
  garbageFlags,
);

/** A Redis that keeps nothing, beside the load generator: what it costs itself is not the gateway's. */
export async function redis({ directory }: Place): Promise<Difference> {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: directory, save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  await start(load_core, 'redis-server', args).printed(/Ready to accept connections/);
  return { config: { stores: { state: `redis://127.0.0.1:${port}` } } };
}

/** Spans go to a process beside the load generator. */
export async function traced(ratio: number): Promise<Difference> {
  const { port } = await startOwn(load_core, servers, ['spans']);
  const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: String(ratio) };
  return { variables: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, ...sampler } };
}

/** The command without a piece that is tuned by hand. */
export const without = (tuning: string): Difference => ({
  entry: [join(root, 'test/tools/bench/tunings.ts'), tuning],
});

export const passing = (task: TaskName, texts: number, tuning?: string): Contestant =>
  sidecar(
    tuning ? `sluice-${task}-without-${tuning}` : `sluice-${task}`,
    `sluice \`passthrough\`, ${texts} a call${tuning ? `, without ${tunings[tuning]!.title}` : ''}`,
    { task },
    () => ({
      config: { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] },
      ...(tuning && without(tuning)),
    }),
  );

const rung_program = 'test/tools/bench/ladder/rung.ts';
/** Below the writers, finish and usage are events of their own, as the upstream sends them. */
const passingEvents: ReadonlySet<RungName> = new Set(['spike', 'inbound', 'dialect']);

/** A rung of the ladder; the last one is the command. */
export const rung = (name: RungName): Contestant =>
  name === 'sidecar'
    ? sluice
    : sidecar(
        `rung-${name}`,
        rungs[name].title,
        { streamed: passingEvents.has(name) ? { frame_events: 3 } : final },
        () => ({ entry: [join(root, rung_program), name] }),
      );

/** Checks out another commit of this repository in `directory`, with its own dependencies if they differ. Returns where. */
export function checkOut(commit: string, directory: string): string {
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

/** The command in a checkout. */
const commandIn = (tree: string): string =>
  ['bin/sluice.cjs', 'src/cli/sidecar.ts', 'src/sidecar.ts'].map(file => join(tree, file)).find(existsSync)!;

/** Another commit of this repository. */
export const commitOf = (commit: string): Contestant =>
  sidecar('sluice-against', `sluice ${commit}`, { streamed: final }, ({ directory }) => ({
    entry: [commandIn(checkOut(commit, directory))],
  }));

/** A rung as it is in another commit. Takes no part if that commit has no ladder. */
export const rungAt = (commit: string, name: RungName): Contestant =>
  name === 'sidecar'
    ? commitOf(commit)
    : sidecar(`rung-${name}-against`, `${name} of ${commit}`, {}, ({ directory }) => {
        const file = join(checkOut(commit, directory), rung_program);
        if (!existsSync(file)) throw new Error(`${commit} has no ladder`);
        return { entry: [file, name] };
      });
