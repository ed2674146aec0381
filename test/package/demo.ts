import type { SpawnOptions } from 'node:child_process';
import { PrintingProcess } from '../support/printing-process.ts';

/** What was seen of a demo that serves and ends. */
export interface TriedDemo {
  /** Milliseconds until it listened. */
  readonly took_ms: number;
  /** How many models it has. */
  readonly models: number;
}

/** Runs `sluice` without a configuration at free ports, asks it for its models and ends it. Throws when it does not serve or not end. */
export async function tryDemo(
  program: string,
  args: readonly string[],
  options: SpawnOptions,
  within_ms?: number,
): Promise<TriedDemo> {
  const began_ms = performance.now();
  const demo = new PrintingProcess(program, [...args, '--port', '0', '--admin-port', '0'], options);
  const [, url = ''] = await demo.printed(/listening on (http:\/\/\S+)/, within_ms);
  const took_ms = performance.now() - began_ms;
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: unknown[] };
  demo.signal('SIGINT');
  const code = await demo.exited;
  if (data.length === 0 || code !== 0) throw new Error(`${data.length} models, exit code ${code}`);
  return { took_ms, models: data.length };
}
