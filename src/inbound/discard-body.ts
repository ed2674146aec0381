import type { IncomingMessage } from 'node:http';

/**
 * Lets a client finish sending a body that nobody wants, so that it reads the reply instead of a reset; one that sends more than
 * `max_bytes` or longer than `patience_ms` is cut off.
 */
export function discardBody(request: IncomingMessage, max_bytes: number, patience_ms: number): void {
  if (request.complete || request.destroyed) return;
  let left_bytes = max_bytes;
  const timer = setTimeout(() => request.destroy(), patience_ms).unref();
  request.on('data', (part: Buffer) => {
    left_bytes -= part.length;
    if (left_bytes < 0) request.destroy();
  });
  request.once('close', () => clearTimeout(timer));
  request.resume();
}
