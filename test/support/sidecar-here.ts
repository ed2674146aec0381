import { stringify } from 'yaml';
import { type Sidecar, serve } from '../../src/cli/serve.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { capturedLog, type LogLine } from './captured-log.ts';
import { type ConfigFile, configFile } from './sidecar-process.ts';

/** A sidecar in this process. */
export interface SidecarHere extends Sidecar {
  /** What it has logged, from level info on. */
  readonly lines: readonly LogLine[];
  /** The same as text. */
  output(): string;
  /** Shuts it down as SIGTERM does. May be called again. */
  stop(): Promise<void>;
}

const running: SidecarHere[] = [];

/** What `sluice --config FILE` serves, for tests that need no process of it: to start one takes a second of CPU. */
export async function serveFileHere(file: string): Promise<SidecarHere> {
  const { log, lines } = capturedLog();
  const sidecar = await serve(file, { log });
  const output = () => lines.map(line => JSON.stringify(line)).join('\n');
  const here = { ...sidecar, lines, output, stop: () => sidecar.close() };
  running.push(here);
  return here;
}

/** The same with a file of its own. */
export async function serveHere(config: GatewayConfig): Promise<SidecarHere & Omit<ConfigFile, 'remove'>> {
  const { file, rewrite, remove } = await configFile(stringify(config));
  const sidecar = await serveFileHere(file).catch(error => remove().then(() => Promise.reject(error)));
  return Object.assign(sidecar, { file, rewrite, stop: () => sidecar.close().finally(remove) });
}

/** For afterEach: ends those that still run, with what runs in them. */
export async function endServed(): Promise<void> {
  const left = running.splice(0);
  for (const sidecar of left) sidecar.abort();
  await Promise.all(left.map(sidecar => sidecar.close(0)));
  await Promise.all(left.map(sidecar => sidecar.stop()));
}
