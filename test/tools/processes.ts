import type { AddressInfo, Server } from 'node:net';
import { PrintingProcess } from '../support/printing-process.ts';

/** Starting takes a second or two; on a machine that is busy with other things many more. */
const start_ms = 60_000;
const running = new Set<PrintingProcess>();
// Not SIGKILL, which would leave nginx's workers behind.
process.on('exit', () => running.forEach(each => void each.signal('SIGTERM')));

/** Starts `command` on one core, in an environment that has nothing of ours but paths, and `variables`. It ends with this process. */
export function start(
  core: number,
  command: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): PrintingProcess {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NODE_ENV: 'production', ...variables };
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const;
  const started = new PrintingProcess('taskset', ['-c', String(core), command, ...args], {
    stdio: [...stdio],
    env,
  });
  running.add(started);
  return started;
}

/** Starts a file of the repository, or of another checkout, with `flags` of Node. Resolves with the port that it prints. */
export async function startOwn(
  core: number,
  file: string,
  args: readonly string[] = [],
  variables: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
) {
  const nodeArgs = [...flags, '--conditions=sluice-source', file, ...args];
  const started = start(core, process.execPath, nodeArgs, variables);
  const [, port] = await started.printed(/listening on http:\/\/127\.0\.0\.1:(\d+)/, start_ms);
  return { port: Number(port), pid: started.pid };
}

/** For such a file: listens on a free port, prints it, and ends with the benchmark. */
export function listen(server: Server): void {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  });
  process.on('disconnect', () => process.exit());
}
