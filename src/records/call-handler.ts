import type { ClientRequest, RequestOptions, Server } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { http } from '../common/node-http.ts';
import type { RequestHandler } from '../gateway/exchange/stage-plan.ts';

/** Handlers by the connections that were made for a call of theirs. */
const handlers = new WeakMap<Duplex, RequestHandler>();
let server: Server | undefined;

/**
 * Calls a handler, such as the gateway, as any client does: by HTTP, but over a connection within this process, because a mounted gateway has no
 * listener, and that of a sidecar may be reachable by its proxy only. `remote_address` is the client's, for the log. The connection ends with
 * the call, and the call with the connection, as when a client leaves.
 */
export function callHandler(
  handler: RequestHandler,
  {
    headers,
    ...options
  }: Omit<RequestOptions, 'createConnection' | 'headers'> & { readonly headers: object },
  remote_address?: string,
): ClientRequest {
  return http.request({
    ...options,
    headers: { ...headers, connection: 'close' },
    createConnection: () => connectedTo(handler, remote_address),
  });
}

/** Client side of a new connection. */
function connectedTo(handler: RequestHandler, remoteAddress: string | undefined): Duplex {
  const [ours, theirs] = duplexPair();
  ours.on('close', () => theirs.destroy());
  // After an orderly end, what was written can still be read.
  theirs.on('close', () => theirs.writableFinished || ours.destroy());
  handlers.set(theirs, handler);
  if (remoteAddress !== undefined) Object.assign(theirs, { remoteAddress });
  server ??= newServer();
  server.emit('connection', theirs);
  return ours;
}

/** Never listens: connections are injected. */
function newServer(): Server {
  const created = http.createServer((request, response) =>
    handlers.get(request.socket)!(request, response, () => response.writeHead(404).end()),
  );
  // As on the public listener: a streamed reply may last for hours.
  created.requestTimeout = 0;
  return created;
}
