import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip, type ZlibOptions } from 'node:zlib';
import { acceptedEncodings } from '../common/accepted-encodings.ts';
import type { OpenedGateway } from '../mount/gateway.ts';
import type { ServerStatus } from '../mount/server-status.ts';
import { openMetricsOf, openMetricsType, wantsOpenMetrics } from '../telemetry/open-metrics.ts';

/** Handler of the admin listener: `/metrics`, `/healthz`, `/readyz`, `/dashboard`. For operators only; never make its address public. */
export function adminHandler({ gateway, server, extensions }: OpenedGateway) {
  const others = (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    answer(server, request, response).catch(fault => {
      // Operators may see the error.
      gateway.log.error({ err: fault }, 'failed to answer a request to the admin listener');
      if (!response.headersSent) send(response, 500, 'text/plain', `${fault}\n`);
    });
  let { admin } = gateway.settings;
  let allowed = new AllowedHosts(admin);
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { url } = request;
    if (gateway.settings.admin !== admin) {
      // It was reloaded.
      admin = gateway.settings.admin;
      allowed = new AllowedHosts(admin);
    }
    if (!allowed.has(request))
      return send(response, 421, 'text/plain', 'this Host is not allowed; add it to admin.hosts\n');
    const unknown = () => {
      request.url = url;
      void others(request, response);
    };
    if (!extensions.serveAdmin(request, response, unknown)) unknown();
  };
}

async function answer(
  server: ServerStatus,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url?.split('?')[0];
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return send(response, 405, 'text/plain', 'only GET\n');
  if (path === '/healthz') return send(response, 200, 'text/plain', 'ok\n');
  if (path === '/readyz') {
    const { ready, conditions } = await server.all();
    const lines = ready ? ['ready', ...conditions] : conditions;
    return send(response, ready ? 200 : 503, 'text/plain', `${lines.join('\n')}\n`);
  }
  if (path === '/metrics') {
    const registry = await server.registry();
    const isOpen = wantsOpenMetrics(request.headers.accept);
    const text = await (isOpen ? openMetricsOf(registry) : registry.metrics());
    const type = isOpen ? openMetricsType : registry.contentType;
    return sendCompressed(request, response, type, text);
  }
  send(response, 404, 'text/plain', 'here are: /metrics /healthz /readyz\n');
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** Sends `text`, with gzip where the client takes it, as Prometheus does: a large catalog makes megabytes at each scrape. */
async function sendCompressed(
  { headers }: IncomingMessage,
  response: ServerResponse,
  type: string,
  text: string,
): Promise<void> {
  const isGzip = acceptedEncodings(String(headers['accept-encoding'] ?? ''), ['gzip']).length > 0;
  const body = isGzip ? await gzipped(text, { level: constants.Z_BEST_SPEED }) : Buffer.from(text);
  const encoding = isGzip ? { 'content-encoding': 'gzip' } : {};
  response
    .writeHead(200, {
      'content-type': type,
      'content-length': body.length,
      vary: 'accept, accept-encoding',
      ...encoding,
    })
    .end(body);
}

const gzipped = promisify<string, ZlibOptions, Buffer>(gzip);

/**
 * Host names that a listener accepts. Protects against DNS rebinding: a page of another site can point its own name at this machine and
 * read the replies; its requests carry that name in `Host`.
 */
class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor({ host, hosts }: { readonly host: string; readonly hosts: readonly string[] }) {
    this.#names = new Set(['localhost', '127.0.0.1', '[::1]', ...[host, ...hosts].map(nameOf)]);
  }

  /** True also without a Host header, as in HTTP/1.0 health checks: browsers always send one. */
  has({ headers, socket }: IncomingMessage): boolean {
    if (headers.host === undefined) return true;
    const name = nameOf(headers.host);
    return this.#names.has(name) || name === nameOf(socket.localAddress ?? '');
  }
}

/** Normalized name or address without its port. */
function nameOf(host: string): string {
  const lower = host.toLowerCase().replace(/^::ffff:(?=[\d.]+$)/, '');
  const isBareIPv6 = lower.split(':').length > 2 && !lower.startsWith('[');
  return isBareIPv6 ? `[${lower}]` : lower.replace(/:\d*$/, '').replace(/\.$/, '');
}
