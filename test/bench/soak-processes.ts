import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SimulatorOptions, SimulatorStats } from '../../src/simulator/server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const patience_ms = 30_000;

export interface SimulatorProcess {
  readonly url: string;
  stats(): Promise<SimulatorStats>;
  stop(): Promise<void>;
}

/** Starts the simulator in a process of its own, which ends when this one does. */
export async function startSimulatorProcess(
  options: Partial<SimulatorOptions> = {},
): Promise<SimulatorProcess> {
  const file = fileURLToPath(new URL('soak-simulator.ts', import.meta.url));
  // Nothing of how this process was started: under a test runner that is not meant for others.
  const child = fork(file, [JSON.stringify(options)], { execArgv: [] });
  const answer = async () => (await once(child, 'message', { signal: AbortSignal.timeout(patience_ms) }))[0];
  const { url } = (await answer()) as { url: string };
  return {
    url,
    stats: async () => {
      const stats = answer();
      child.send('stats');
      return (await stats) as SimulatorStats;
    },
    stop: () => end(child),
  };
}

export interface GatewayProcess {
  readonly url: string;
  readonly adminUrl: string;
  /** What it has printed as an error. */
  complaints(): string;
  /** Undefined while it runs; the exit code or the signal that ended it. */
  ended(): number | string | undefined;
  /** SIGTERM, and how it ended. */
  stop(): Promise<number | string | undefined>;
}

/** Starts the sidecar with a configuration file; `onLine` sees every line that it prints. */
export async function startGatewayProcess(
  file: string,
  onLine: (line: string) => void,
): Promise<GatewayProcess> {
  const args = ['--conditions=sluice-source', 'src/sidecar.ts', '--config', file];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill();
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    complaints = (complaints + text).slice(0, 10_000);
  });
  let announced = (_: string): void => {};
  const listening = new Promise<RegExpExecArray>((resolve, reject) => {
    announced = line => {
      const match = /listening on (http:\/\/\S+) \(admin: (http:\/\/[^\s)]+)\)/.exec(line);
      if (match) resolve(match);
    };
    child.once('exit', code => reject(new Error(`the sidecar ended with ${code}: ${complaints}`)));
  });
  createInterface({ input: child.stdout }).on('line', line => {
    announced(line);
    onLine(line);
  });
  const [, url = '', adminUrl = ''] = await listening;
  const ended = () => child.exitCode ?? child.signalCode ?? undefined;
  const stop = async () => {
    await end(child);
    return ended();
  };
  return { url, adminUrl, complaints: () => complaints, ended, stop };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = new AbortController();
  const closed = once(child, 'close').then(() => over.abort());
  child.kill('SIGTERM');
  await after(patience_ms, undefined, over).then(
    () => child.kill('SIGKILL'),
    () => {},
  );
  await closed;
}
