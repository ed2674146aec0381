import type { IncomingMessage, ServerResponse } from 'node:http';

interface Waiting {
  readonly response: ServerResponse;
  readonly keeps_alive: boolean;
}

const waiting = new WeakMap<IncomingMessage, Waiting>();

/**
 * Notes that the client waits for `100 Continue` before it sends its body (RFC 9110, 10.1.1). If none is sent, it is unknown whether the
 * body still follows the reply, so the reply closes the connection.
 */
export function expectContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, { response, keeps_alive: response.shouldKeepAlive });
  response.shouldKeepAlive = false;
}

/** Writes `100 Continue` to a client that waits for it. Call it right before the body is read. */
export function sendContinue(request: IncomingMessage): void {
  const client = waiting.get(request);
  if (!client) return;
  waiting.delete(request);
  client.response.shouldKeepAlive = client.keeps_alive;
  client.response.writeContinue();
}

/** Whether the client still waits for `100 Continue` and has sent nothing of its body. */
export function waitsToContinue(request: IncomingMessage): boolean {
  return waiting.has(request) && request.readableLength === 0;
}
