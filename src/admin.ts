import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gateway } from './gateway.ts';
import { openMetricsOf, openMetricsType, wantsOpenMetrics } from './telemetry/open-metrics.ts';

/** The second listener, for operators only: `/metrics`, `/healthz`, `/readyz`. Never put it on a public address. */
export function adminHandler(gateway: Gateway) {
  return (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    answer(gateway, request, response).catch(fault => {
      // Operators may see what it is; the process serves on.
      gateway.log.error({ err: fault }, 'an operator could not be answered');
      if (!response.headersSent) send(response, 500, 'text/plain', `${fault}\n`);
    });
}

async function answer(gateway: Gateway, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?')[0];
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return send(response, 405, 'text/plain', 'only GET\n');
  if (path === '/healthz') return send(response, 200, 'text/plain', 'ok\n');
  if (path === '/readyz') {
    const { ready, conditions } = gateway;
    const lines = ready ? ['ready', ...conditions] : conditions;
    return send(response, ready ? 200 : 503, 'text/plain', `${lines.join('\n')}\n`);
  }
  if (path === '/metrics' && wantsOpenMetrics(request.headers.accept))
    return send(response, 200, openMetricsType, await openMetricsOf(gateway.registry));
  if (path === '/metrics')
    return send(response, 200, gateway.registry.contentType, await gateway.registry.metrics());
  send(response, 404, 'text/plain', 'here are: /metrics /healthz /readyz\n');
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}
