import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { defaultModels } from '../../src/catalog/default-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { clientKey, upstreamKey } from './gateway-under-test.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Starting takes a second; a machine that is busy with other tests may need many. */
const start_ms = 25_000;

/** A sidecar in its own process, once it has printed its address. */
export interface SidecarProcess {
  readonly url: string;
  readonly adminUrl: string;
  readonly pid: number;
  /** All that it has printed so far, standard output and errors. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /** Leaves its standard output unread from now on, as a log collector does that hangs. */
  hangReader(): void;
  /** Whether the process has ended, also while its output is not read. */
  hasEnded(): boolean;
  /** The exit code, once it has ended; null if a signal has killed it. */
  readonly exited: Promise<number | null>;
  /** SIGTERM, and the exit code. May be called again. */
  stop(): Promise<number | null>;
}

/** The output and exit code of a finished command. */
export interface FinishedCommand {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A configuration of the example catalog in front of `upstream`, on free ports, with the key `clientKey`. */
export function sidecarConfig(
  upstream: string,
  sections: Partial<GatewayConfig> = {},
  provider: Readonly<Record<string, unknown>> = {},
): GatewayConfig {
  return {
    admin: { port: 0 },
    log: { level: 'warn' },
    providers: { upstream: { adapter: 'vllm', base_url: upstream, api_key: upstreamKey, ...provider } },
    models: defaultModels('upstream'),
    accounts: { tester: { keys: [{ value: clientKey }] } },
    ...sections,
    server: { port: 0, unready_ms: 0, ...sections.server },
  } as GatewayConfig;
}

/** `sluice --config FILE` with this configuration as YAML. */
export async function startSidecar(
  config: GatewayConfig,
  environment: Readonly<Record<string, string>> = {},
): Promise<SidecarProcess> {
  const { file, remove } = await configFile(stringify(config));
  return listening(new Command(['--config', file], environment, remove));
}

/** `sluice` without a configuration, on free ports. */
export function startDemo(environment: Readonly<Record<string, string>> = {}): Promise<SidecarProcess> {
  return listening(new Command(['--port', '0', '--admin-port', '0'], environment));
}

/** `sluice ARGUMENTS`, to its end. */
export async function runSidecar(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<FinishedCommand> {
  const command = new Command(args, environment);
  const code = await command.exited;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

/** A YAML file of its own for one test. */
export async function configFile(text: string): Promise<{ file: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const file = join(directory, 'sluice.yaml');
  await writeFile(file, text);
  return { file, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** One process and what it prints. */
class Command {
  stdout = '';
  stderr = '';
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #readers = new Set<() => void>();

  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    cleanUp: () => Promise<void> = async () => {},
  ) {
    const { UPSTREAM_URL, UPSTREAM_KEY, UPSTREAM_ADAPTER, ...inherited } = process.env;
    this.#child = spawn(process.execPath, ['--conditions=sluice-source', 'src/cli/sidecar.ts', ...args], {
      cwd: root,
      env: { ...inherited, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', text => this.#printed('stdout', text));
    this.#child.stderr?.setEncoding('utf8').on('data', text => this.#printed('stderr', text));
    const closed = new Promise<number | null>((resolve, reject) => {
      this.#child.once('error', reject).once('close', code => resolve(code));
    });
    this.exited = closed.finally(cleanUp);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  output = (): string => this.stdout + this.stderr;

  signal = (name: NodeJS.Signals): void => {
    this.#child.kill(name);
  };

  hangReader = (): void => {
    this.#child.stdout?.removeAllListeners('data').pause();
  };

  hasEnded = (): boolean => this.#child.exitCode !== null || this.#child.signalCode !== null;

  /** Resolves with the match when standard output has come to match. Rejects when the process ends or takes too long. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const fail = (why: string) => reject(new Error(`${why}; it printed: ${this.output()}`));
        const look = () => {
          const match = pattern.exec(this.stdout);
          if (match) resolve(match);
        };
        timer = setTimeout(() => fail(`the sidecar did not print ${pattern}`), start_ms);
        this.exited.then(code => fail(`the sidecar exited with ${code}`), reject);
        this.#readers.add(look);
        look();
      });
    } finally {
      clearTimeout(timer);
      this.#readers.clear();
    }
  }

  #printed(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text;
    for (const look of this.#readers) look();
  }
}

async function listening(command: Command): Promise<SidecarProcess> {
  const { pid, output, signal, hangReader, hasEnded, exited } = command;
  const stop = async () => {
    signal('SIGTERM');
    return exited;
  };
  try {
    const [, url = '', adminUrl = ''] = await command.printed(
      /listening on (http:\/\/\S+) \(admin: (http:\/\/[^\s)]+)\)/,
    );
    return { url, adminUrl, pid, output, signal, hangReader, hasEnded, exited, stop };
  } catch (error) {
    signal('SIGKILL');
    throw error;
  }
}
