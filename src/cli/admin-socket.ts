import { once } from 'node:events';
import { existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { mistakesIn } from '../common/config-error.ts';
import { discardBody } from '../gateway/inbound/discard-body.ts';
import type { Gateway } from '../mount/gateway.ts';
import { createHttpServer, textFormat } from './http-server.ts';

/** What `POST /reload` answers: the result of a reload, or why it was refused. */
export interface ReloadReply {
  readonly accepted: boolean;
  readonly changed?: readonly string[];
  readonly needs_restart?: readonly string[];
  readonly warnings?: readonly string[];
  /** The mistakes of the configuration, or the one reason. */
  readonly mistakes?: readonly string[];
}

/** Bounds for the body of a request to reload, which is not read. */
const linger = { max_body_bytes: 64 * 1024, body_idle_ms: 1000, body_timeout_ms: 1000 };

/**
 * Listens on a Unix socket that only the user of this process may open: `others`, and `POST /reload`. A socket that no process listens on is
 * replaced; one of a living process only if that is to be, for a process that takes over. Removes the socket when the server closes.
 */
export async function openAdminSocket(
  gateway: Gateway,
  path: string,
  others: RequestListener,
  takesOver: boolean,
): Promise<Server> {
  await expectFree(path, takesOver);
  const server = createHttpServer((request, response) => {
    const isReload = request.method === 'POST' && request.url === '/reload';
    if (!isReload) return others(request, response);
    void reload(gateway, request, response);
  }, textFormat);
  // Put in its place when it is ready: clients find the one before it or this one.
  const beside = `${path}.${process.pid}`;
  rmSync(beside, { force: true });
  const mask = process.umask(0o177);
  try {
    server.listen({ path: beside });
  } finally {
    process.umask(mask);
  }
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`admin.socket: cannot listen at ${path}: ${reasonOf(beside, cause)}`, { cause });
  });
  renameSync(beside, path);
  const own = inodeOf(path);
  server.once('close', () => {
    // Another process may have put its own there.
    if (inodeOf(path) === own) rmSync(path, { force: true });
  });
  return server;
}

/** Bytes of the longest path in Linux; macOS takes four less. */
const max_path_bytes = 107;

function reasonOf(beside: string, { code }: NodeJS.ErrnoException): string {
  if (Buffer.byteLength(beside) > max_path_bytes) return 'its path is too long; name one of at most 90 bytes';
  const folder = dirname(beside);
  // The system calls both EACCES.
  return existsSync(folder) ? `${code}` : `there is no folder ${folder}`;
}

async function reload(gateway: Gateway, request: IncomingMessage, response: ServerResponse): Promise<void> {
  discardBody(request, linger);
  const [status, reply] = await gateway.reload().then(
    ({ changed, needsRestart, warnings }): [number, ReloadReply] => [
      200,
      { accepted: true, changed, needs_restart: needsRestart, warnings },
    ],
    (thrown): [number, ReloadReply] => [422, { accepted: false, mistakes: mistakesOf(thrown) }],
  );
  const body = `${JSON.stringify(reply)}\n`;
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(body);
}

const mistakesOf = (thrown: unknown): string[] =>
  mistakesIn(thrown) ?? [thrown instanceof Error ? thrown.message : String(thrown)];

/** Throws if something is at `path` that must not be replaced. */
async function expectFree(path: string, takesOver: boolean): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isSocket()) throw new Error(`admin.socket: ${path} is there already and is not a socket`);
  if (!takesOver && (await isAlive(path)))
    throw new Error(
      `admin.socket: another process listens at ${path}; with server.reuse_port the next process takes it over`,
    );
}

/** Whether a process accepts connections at `path`. */
function isAlive(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path)
    .once('connect', () => resolve(true))
    .once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  return promise.finally(() => socket.destroy());
}

const inodeOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.ino;
