import type { IncomingMessage, ServerResponse } from 'node:http';

interface Waiting {
  readonly response: ServerResponse;
  readonly keeps_alive: boolean;
}

const waiting = new WeakMap<IncomingMessage, Waiting>();

/**
 * Remembers that the client of `request` waits for `100 Continue` before it sends its body (RFC 9110, 10.1.1). Unless it is sent, whether the
 * body follows the reply cannot be known, so that the reply closes the connection.
 */
export function expectContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, { response, keeps_alive: response.shouldKeepAlive });
  response.shouldKeepAlive = false;
}

/** Writes `100 Continue` to a client that waits for it. To be called where the body is about to be read, never before. */
export function sendContinue(request: IncomingMessage): void {
  const client = waiting.get(request);
  if (!client) return;
  waiting.delete(request);
  client.response.shouldKeepAlive = client.keeps_alive;
  client.response.writeContinue();
}

/** Whether the client of `request` still waits, and has sent nothing of its body. */
export function waitsToContinue(request: IncomingMessage): boolean {
  return waiting.has(request) && request.readableLength === 0;
}
