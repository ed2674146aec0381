import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { refusal } from '../gateway/exchange/errors.ts';

/**
 * Gives a request whose body was read a body again, for the handler behind the chain: as a stream, for handlers that pipe, and as
 * `request.body` in the form in which a body parser has set it. Call it only after the end of the body.
 */
export function replayBody(
  request: IncomingMessage & { body?: unknown },
  body: Record<string, unknown>,
): void {
  const text = JSON.stringify(body);
  const bytes = Buffer.from(text);
  if (request.body !== undefined) request.body = inFormOf(request.body, body, text, bytes);
  request.headers['content-type'] = 'application/json';
  replayBytes(request, bytes);
}

/**
 * Restores the body of a request that is passed on unchanged, if another middleware has read it. Throws if that has not kept the bytes, as
 * parsers of forms do not.
 */
export function restoreBody(request: IncomingMessage & { body?: unknown }): void {
  if (!request.readableEnded || !hasBody(request)) return;
  const { body } = request;
  if (Buffer.isBuffer(body) || typeof body === 'string') return replayBytes(request, Buffer.from(body));
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(request.headers['content-type'] ?? '');
  if (isJson && body !== undefined) return replayBytes(request, Buffer.from(JSON.stringify(body)));
  throw refusal('server_error', {
    cause: new Error('another middleware has read the body; put this gateway before it'),
  });
}

/** Whether a request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

function replayBytes(request: IncomingMessage, bytes: Buffer): void {
  request.headers['content-length'] = String(bytes.length);
  delete request.headers['transfer-encoding'];
  delete request.headers['content-encoding'];
  readAgain(request, bytes);
}

/** Lets a request that was read to its end be read once more, as `bytes`; its headers stay. */
export function readAgain(request: IncomingMessage, bytes: Buffer): void {
  // Calling Readable's constructor on an existing stream resets its state; listeners stay.
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
