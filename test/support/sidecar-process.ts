import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { clientKey, upstreamKey } from './gateway-under-test.ts';
import { PrintingProcess } from './printing-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

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

/** A file of a configuration, in a folder of its own. */
export interface ConfigFile {
  readonly file: string;
  /** Replaces it, by rename as deployments do. */
  rewrite(config: GatewayConfig): Promise<void>;
  remove(): Promise<void>;
}

/** A sidecar whose configuration can be replaced. */
export type ConfiguredSidecar = SidecarProcess & Omit<ConfigFile, 'remove'>;

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
): Promise<ConfiguredSidecar> {
  const { file, rewrite, remove } = await configFile(stringify(config));
  return { ...(await listening(startCommand(['--config', file], environment, remove))), rewrite, file };
}

/** `sluice serve --config FILE` with a file that is there already, of the sources in `tree`. */
export const serveFile = (
  file: string,
  environment: Readonly<Record<string, string>> = {},
  tree = root,
): Promise<SidecarProcess> =>
  listening(startCommand(['serve', '--config', file], environment, async () => {}, tree));

/** `sluice` without a configuration, on free ports. */
export function startDemo(environment: Readonly<Record<string, string>> = {}): Promise<SidecarProcess> {
  return listening(startCommand(['--port', '0', '--admin-port', '0'], environment));
}

/** `sluice ARGUMENTS`, to its end. */
export async function runSidecar(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<FinishedCommand> {
  const command = startCommand(args, environment);
  const code = await command.exited;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

/** A YAML file of its own for one test. */
export async function configFile(text: string): Promise<ConfigFile> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const file = join(directory, 'sluice.yaml');
  await writeFile(file, text);
  const rewrite = async (next: GatewayConfig) => {
    await writeFile(`${file}.next`, stringify(next));
    await rename(`${file}.next`, file);
  };
  return { file, rewrite, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** `sluice ARGUMENTS`; cleans up when it has ended. */
function startCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  cleanUp: () => Promise<void> = async () => {},
  cwd = root,
): PrintingProcess {
  const { UPSTREAM_URL, UPSTREAM_KEY, UPSTREAM_ADAPTER, HOST, PORT, ...inherited } = process.env;
  const command = ['--conditions=sluice-source', 'src/cli/sidecar.ts', ...args];
  const options = { cwd, env: { ...inherited, ...environment } };
  return new PrintingProcess(process.execPath, command, options, cleanUp);
}

async function listening(command: PrintingProcess): Promise<SidecarProcess> {
  const { pid, output, signal, hasEnded, exited } = command;
  const hangReader = () => void command.child.stdout?.removeAllListeners('data').pause();
  const stop = async () => {
    signal('SIGTERM');
    return exited;
  };
  const [, url = '', adminUrl = ''] = await command.printed(
    /listening on (https?:\/\/\S+) \(admin: (https?:\/\/[^\s)]+)\)/,
  );
  return { url, adminUrl, pid, output, signal, hangReader, hasEnded, exited, stop };
}
