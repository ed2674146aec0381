import type { StdioOptions } from 'node:child_process';
import type { AddressInfo, Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { PrintingProcess } from '../support/printing-process.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));
/** Starting takes a second or two; on a machine that is busy with other things many more. */
export const start_ms = 60_000;
/** What a gateway, an upstream or another server of the tools prints once it takes requests. */
export const listening = /listening on (http:\/\/\S+)(?: \(admin: (http:\/\/[^\s)]+)\)|\n)/;

/** Where and how a program is started. */
interface Start {
  /** The only core that it may use, or several as taskset names them. */
  readonly core?: number | string;
  /** Its environment; without, that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  readonly stdio?: StdioOptions;
  /** Of Node. */
  readonly flags?: readonly string[];
}

/** An environment that has nothing of ours but paths, and `variables`. */
export function bare(variables: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, NODE_ENV: 'production', ...variables };
}

/** Starts a program. It ends with this process. */
export function start(
  command: string,
  args: readonly string[],
  { core, env, stdio = ['ignore', 'pipe', 'pipe'] }: Omit<Start, 'flags'> = {},
): PrintingProcess {
  const line = core === undefined ? [command, ...args] : ['taskset', '-c', String(core), command, ...args];
  const [program, ...words] = line;
  return new PrintingProcess(program!, words, { cwd: root, stdio, ...(env && { env }) });
}

/** Starts a file of the repository, or of another checkout, from its sources. */
export const startFile = (
  file: string,
  args: readonly string[],
  { flags = [], ...how }: Start = {},
): PrintingProcess => start(process.execPath, [...flags, '--conditions=sluice-source', file, ...args], how);

/** The same with a file that prints where it listens. Resolves with that. */
export async function startServer(file: string, args: readonly string[] = [], how: Start = {}) {
  const started = startFile(file, args, how);
  const [, url = '', adminUrl = ''] = await started.printed(listening, start_ms);
  return { url, adminUrl, port: Number(new URL(url).port), pid: started.pid, process: started };
}

/** For such a file: listens on a free port, and prints it. */
export function listen(server: Server): void {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
}
