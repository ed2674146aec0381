import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gateway } from './gateway.ts';

/** The second listener, for operators only: `/metrics`, `/healthz`, `/readyz`. Never put it on a public address. */
export function adminHandler(gateway: Gateway) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return send(response, 405, 'text/plain', 'only GET\n');
    if (path === '/healthz') return send(response, 200, 'text/plain', 'ok\n');
    if (path === '/readyz') {
      return gateway.ready
        ? send(response, 200, 'text/plain', 'ready\n')
        : send(response, 503, 'text/plain', 'shutting down\n');
    }
    if (path === '/metrics')
      return send(response, 200, gateway.registry.contentType, await gateway.registry.metrics());
    send(response, 404, 'text/plain', 'here are: /metrics /healthz /readyz\n');
  };
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}
