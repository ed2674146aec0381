import type { IncomingHttpHeaders } from 'node:http';
import { errorCatalogue, GatewayError, isObject } from '../../src/plugin.ts';

/** Headers of a reply that are of its body or its connection. */
const ofTransport = /^(content-|connection$|keep-alive$|date$|transfer-encoding$|cache-control$|x-accel)/;

/** An error as a message: status and headers are those of the reply by HTTP. */
export function errorMessage(status: number, error: object, headers: IncomingHttpHeaders = {}): string {
  const shown = Object.entries(headers).filter(([name]) => !ofTransport.test(name));
  return JSON.stringify({ type: 'error', status, error, headers: Object.fromEntries(shown) });
}

/** A GatewayError as a message. */
export function refusalMessage({ status, type, code, message, param, headers }: GatewayError): string {
  return errorMessage(status, { type, code: code ?? null, message, param: param ?? null }, headers);
}

/** The error of a WebSocket, which has no row in the catalogue. */
export const socketError = (status: number, code: string, message: string): GatewayError =>
  new GatewayError('invalid_request_error', status, message, { code });

/** An error event of a stream as a message: it has the status that the error would have had as a reply. */
export function streamErrorMessage(data: string): string {
  const event = JSON.parse(data) as { readonly error?: unknown };
  const { type } = Object(event.error) as { readonly type?: unknown };
  const row = Object.values(errorCatalogue).find(known => known.type === type);
  return JSON.stringify({ ...event, status: row?.status ?? 500 });
}

/** The error in the body of a reply. */
export function errorIn(body: string): Record<string, unknown> {
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown };
    if (isObject(error)) return error;
  } catch {}
  return { type: 'server_error', message: 'The reply cannot be read.' };
}
