import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { BodyTooLarge, exceeds, fieldPath, issuesOf, receivedBody } from '../../src/plugin.ts';
import { apiError } from './api-error.ts';

/** Bytes of a body, and the time in which it must arrive. */
const max_body_bytes = 256 * 1024;
const patience_ms = 10_000;
const max_size = { values: 20_000, keys: 10_000 };

/** What `schema` makes of `value`. Throws an error that names the first field at fault. */
export function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [{ path, message } = { path: [], message: 'is not accepted' }] = issuesOf(
    result.error,
    schema,
    value,
  );
  const param = fieldPath(path);
  throw apiError('invalid_request', {
    message: param ? `${param}: ${message}` : message,
    param: param || undefined,
  });
}

/** The JSON value that a request has, or that the parent application has parsed of it. */
export async function readJson(request: IncomingMessage & { body?: unknown }): Promise<unknown> {
  const [type = ''] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  if (type.trim() !== 'application/json') throw apiError('unsupported_media_type');
  if (request.headers['content-encoding'] !== undefined)
    throw apiError('unsupported_media_type', { message: 'The body must not be compressed.' });
  const { body } = request;
  if (typeof body === 'object' && body !== null && !Buffer.isBuffer(body)) return body;
  const given = typeof body === 'string' || Buffer.isBuffer(body) ? body : await received(request);
  if (Buffer.byteLength(given) > max_body_bytes) throw tooLarge();
  const text = given.toString('utf8');
  if (exceeds(text, max_size)) throw tooLarge();
  try {
    return JSON.parse(text);
  } catch {
    throw apiError('invalid_request', { message: 'The body is not valid JSON.' });
  }
}

async function received(request: IncomingMessage): Promise<Buffer> {
  try {
    return await receivedBody(request, max_body_bytes, patience_ms);
  } catch (thrown) {
    throw thrown instanceof BodyTooLarge ? tooLarge() : thrown;
  }
}

const tooLarge = () => apiError('body_too_large', { headers: { connection: 'close' } });
