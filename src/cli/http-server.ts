import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { type ServerOptions, Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http } from '../common/node-http.ts';
import { openAiErrorBody } from '../gateway/dialects/openai-error.ts';
import { errorHeaders, type GatewayError, refusal } from '../gateway/exchange/errors.ts';
import { discardBody } from '../gateway/inbound/discard-body.ts';
import { expectContinue } from '../gateway/inbound/expect-continue.ts';
import { requestIdOf } from '../gateway/inbound/start-exchange.ts';
import { endWhenReceived } from '../gateway/outbound/write-reply.ts';

/** Format of error bodies. */
export interface RefusalFormat {
  readonly type: string;
  body(error: GatewayError): string;
}

/** The error envelope. */
export const envelopeFormat: RefusalFormat = {
  type: 'application/json; charset=utf-8',
  body: openAiErrorBody,
};

/** A line of text, for operators. */
export const textFormat: RefusalFormat = {
  type: 'text/plain; charset=utf-8',
  body: error => `${error.message}\n`,
};

/** Bounds for reading the rest of a refused request, so that its client can read the reply. */
const linger_ms = 1000;
const linger = { max_body_bytes: 1024 * 1024, body_idle_ms: linger_ms, body_timeout_ms: linger_ms };

/**
 * Creates an HTTP server that answers every error in `format`, also those that Node answers by default: malformed requests, CONNECT,
 * unknown expectations. `100 Continue` is left to the listener, through `sendContinue`. With `tls` it is an HTTPS server.
 */
export function createHttpServer(
  listener: RequestListener,
  format: RefusalFormat,
  tls?: ServerOptions,
): Server {
  const receive: RequestListener = (request, response) => {
    const error = hostFault(request);
    if (!error) return listener(request, response);
    response.writeHead(error.status, headersOf(error, format, request));
    discardBody(request, linger);
    endWhenReceived(response, format.body(error));
  };
  const options = { requireHostHeader: false };
  const server = tls ? new HttpsServer({ ...options, ...tls }, receive) : http.createServer(options, receive);
  return server
    .on('checkContinue', (request, response) => {
      expectContinue(request, response);
      receive(request, response);
    })
    .on('checkExpectation', (request, response) => {
      const error = refusal('expectation_failed');
      // The client sends no body before the reply.
      response.writeHead(error.status, headersOf(error, format, request)).end(format.body(error));
    })
    .on('connect', (request, socket) => {
      socket.on('error', () => {}).resume();
      const message = 'CONNECT is not accepted; this is no forward proxy.';
      refuse(
        socket,
        refusal('method_not_allowed', { message, headers: { allow: 'GET, HEAD, POST' } }),
        format,
        request,
      );
    })
    .on('clientError', (error, socket) => refuseMalformed(error, socket, format));
}

/** An HTTPS server that can close connections which are in their handshake: Node knows them as connections only after it. */
class HttpsServer extends TlsServer {
  readonly #open = new Set<Socket>();

  constructor(options: ServerOptions, listener: RequestListener) {
    super(options, listener);
    this.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  override closeAllConnections(): void {
    super.closeAllConnections();
    for (const socket of this.#open) socket.destroy();
  }
}

/** Error for a wrong number of Host headers (RFC 9112, 3.2): HTTP/1.1 needs one, HTTP/1.0 at most one. */
function hostFault({ httpVersionMinor, headers, rawHeaders }: IncomingMessage): GatewayError | undefined {
  if (headers.host === undefined)
    return httpVersionMinor === 0 ? undefined : malformed('The request has no Host header.');
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1 ? malformed('The request has more than one Host header.') : undefined;
}

const malformed = (message: string): GatewayError => refusal('invalid_request', { message });

/** Messages for Node's error codes; all others are just not valid HTTP. */
const faults: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The request headers are too large.',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'The chunk extensions of the request body are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request headers did not arrive in time.',
};

/** Bytes that may have been written before a reply. */
const continue_bytes = 'HTTP/1.1 100 Continue\r\n\r\n'.length;

const refused = new WeakSet<Duplex>();

/**
 * Refuses malformed HTTP; only closes a connection that has carried a reply, because this may be in the middle of one, and one on which
 * nothing came: a browser opens some in advance, and takes what it finds there for the reply to a request that it sends later.
 */
function refuseMalformed({ code = '' }: NodeJS.ErrnoException, socket: Duplex, format: RefusalFormat): void {
  // Further data of a refused request.
  if (refused.has(socket) && code !== 'ECONNRESET') return;
  // Without a handshake there is nothing to write on, as after plain HTTP to a TLS port.
  const isUnsafe = code === 'ECONNRESET' || /^ERR_(SSL|TLS)_/.test(code);
  const { bytesRead, bytesWritten } = socket as Socket;
  if (!socket.writable || isUnsafe || bytesRead === 0 || bytesWritten > continue_bytes) {
    socket.destroy();
    return;
  }
  refuse(socket, malformed(faults[code] ?? 'The request is not valid HTTP.'), format);
}

/** Refuses on a connection without a response. Closes it later: closed while the client sends, it is reset before the reply is read. */
function refuse(socket: Duplex, error: GatewayError, format: RefusalFormat, request?: IncomingMessage): void {
  refused.add(socket);
  const lines = Object.entries(headersOf(error, format, request)).map(([name, value]) => `${name}: ${value}`);
  const reason = error.status === 405 ? 'Method Not Allowed' : 'Bad Request';
  socket.end(`HTTP/1.1 ${error.status} ${reason}\r\n${lines.join('\r\n')}\r\n\r\n${format.body(error)}`);
  const timer = setTimeout(() => socket.destroy(), linger_ms).unref();
  socket.once('close', () => clearTimeout(timer));
}

const headersOf = (
  error: GatewayError,
  format: RefusalFormat,
  request?: IncomingMessage,
): Record<string, string> => ({
  'content-type': format.type,
  'content-length': String(Buffer.byteLength(format.body(error))),
  'x-request-id': requestIdOf(request?.headers ?? {}),
  ...errorHeaders(error),
  connection: 'close',
});
