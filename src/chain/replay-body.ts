import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/**
 * Gives a request whose body has been read a body again, for the handler behind the chain: as a stream, for those that pipe, and as
 * `request.body` in the form that a body parser has put there, for those that look there. Must not be called before the end of the body.
 */
export function replayBody(
  request: IncomingMessage & { body?: unknown },
  body: Record<string, unknown>,
): void {
  const text = JSON.stringify(body);
  const bytes = Buffer.from(text);
  if (request.body !== undefined) request.body = inFormOf(request.body, body, text, bytes);
  request.headers['content-type'] = 'application/json';
  request.headers['content-length'] = String(bytes.length);
  delete request.headers['transfer-encoding'];
  delete request.headers['content-encoding'];
  // A Readable's constructor on an existing stream sets its state back to the beginning; listeners stay.
  Reflect.apply(Readable as unknown as (options: object) => void, request, [
    { read() {}, autoDestroy: false },
  ]);
  request.push(bytes);
  request.push(null);
}

function inFormOf(parsed: unknown, body: Record<string, unknown>, text: string, bytes: Buffer): unknown {
  if (typeof parsed === 'string') return text;
  return Buffer.isBuffer(parsed) ? bytes : body;
}
