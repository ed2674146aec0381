import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/**
 * Gives a request whose body has been read a body again, for the handler behind the chain: as `body`, for those that look
 * there, and as a stream, for those that pipe.
 */
export function replayBody(
  request: IncomingMessage & { body?: unknown },
  body: Record<string, unknown>,
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  request.body = body;
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
