import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseAllDocuments } from 'yaml';

/**
 * What `docker` and `kubectl` of a recipe have made, kept between their calls. The gateway of a container is a process of this machine: with
 * the files that the container would see, at the ports of the recipe.
 */
interface State {
  readonly images: string[];
  /** Folder of what a container sees, and its process, by its name. */
  readonly containers: Record<string, { readonly folder: string; readonly pid: number }>;
  readonly namespaces: string[];
  /** Secrets by `NAMESPACE/NAME`. */
  readonly secrets: Record<string, Readonly<Record<string, string>>>;
}

/** The folder of the recipe's user, in which everything is kept. */
export const home = process.env.HOME!;
const state_file = join(home, 'containers.json');

export const state = existsSync(state_file)
  ? (JSON.parse(readFileSync(state_file, 'utf8')) as State)
  : ({ images: [], containers: {}, namespaces: [], secrets: {} } satisfies State);

export const keep = (): void => writeFileSync(state_file, JSON.stringify(state));

/** Ends the program with a complaint about what it was given, unless `holds`. */
export function check(holds: unknown, complaint: string): asserts holds {
  if (holds) return;
  process.stderr.write(`${basename(process.argv[1] ?? '', '.ts')}: ${complaint}\n`);
  process.exit(1);
}

/** The options in front of the first word that is none. `flags` have no value, `valued` have one. Any other ends the program. */
export function optionsOf(
  words: readonly string[],
  flags: readonly string[],
  valued: readonly string[],
): { all(name: string): string[]; readonly rest: readonly string[] } {
  const options: [name: string, value: string][] = [];
  let at = 0;
  for (; words[at]?.startsWith('--'); at++) {
    const [name = '', value] = words[at]!.slice(2).split(/=(.*)/s);
    check(flags.includes(name) || valued.includes(name), `unknown option ${words[at]}`);
    options.push([name, flags.includes(name) ? '' : (value ?? words[++at] ?? '')]);
  }
  return {
    all: name => options.filter(([each]) => each === name).map(([, value]) => value),
    rest: words.slice(at),
  };
}

export const documentsOf = <T>(file: string): T[] =>
  parseAllDocuments(readFileSync(file, 'utf8'), { merge: true }).map(each => each.toJS() as T);

/** Copies a configuration to `folder`, with the paths, hosts and stores of this machine in place of those that a container has. */
export function place(configuration: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const text = readFileSync(configuration, 'utf8')
    .replaceAll('/run/secrets', join(folder, 'secrets'))
    .replaceAll(/host\.docker\.internal|vllm\.inference/g, '127.0.0.1')
    .replace(/^server: \{ host: 0\.0\.0\.0 \}\n/m, '')
    .replace(/^admin: \{ host: 0\.0\.0\.0.*\n/m, '')
    .replace(/^ {2}state: .*\n {2}state_min_instances: .*\n/m, '')
    .replace(/^( {2}records: ).*$/m, `$1sqlite:${join(folder, 'sluice.db')}`);
  writeFileSync(join(folder, 'sluice.yaml'), text);
}

const env = {
  ...process.env,
  UPSTREAM_URL: process.env.UPSTREAM_URL?.replace('host.docker.internal', '127.0.0.1'),
};

const inside = (folder: string, words: readonly string[]) =>
  words.map(word => (word === '/etc/sluice/sluice.yaml' ? join(folder, 'sluice.yaml') : word));

/** Starts the command of a container, whose process goes on when this program has ended. Beside another one it gets ports of its own. */
export function start(name: string, folder: string, words: readonly string[]): void {
  const [program = '', ...args] = inside(folder, words);
  if (Object.keys(state.containers).length > 0) args.push('--port', '0', '--admin-port', '0');
  const log = openSync(join(folder, 'log'), 'a');
  const child = spawn(program, args, { stdio: ['ignore', log, log], env });
  child.unref();
  state.containers[name] = { folder, pid: child.pid! };
  keep();
}

/** The folder and the process of a container. */
export function containerOf(name: string): State['containers'][string] {
  const container = state.containers[name];
  check(container, `${name} does not run`);
  return container;
}

/** Runs a command in a container, and ends as it does. */
export function execute(name: string, words: readonly string[]): never {
  const [program = '', ...args] = inside(containerOf(name).folder, words);
  process.exit(spawnSync(program, args, { stdio: 'inherit', env }).status ?? 1);
}
