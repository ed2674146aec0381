import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { type GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { checkDepth } from './depth.ts';
import type { BodyLimits } from './limits.ts';

const decompressors = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};
type Encoding = keyof typeof decompressors;

const malformed = (message: string, cause?: unknown): GatewayError =>
  refusal('invalid_request', { message, cause });

/** Rejects `readBody` when the client leaves while it is sending. */
export class UploadAborted extends Error {}

/**
 * The JSON object that the client sent (protocol b3, b4, m15). A body that the parent application has parsed already is taken as it
 * is; otherwise the bytes are read here, within `limits` and until the exchange aborts, decompressed and decoded.
 */
export async function readBody(
  request: IncomingMessage & { body?: unknown },
  limits: BodyLimits,
  exchange: Exchange,
): Promise<Record<string, unknown>> {
  const parsed = request.body;
  // Also of a parsed body: a form that the parent reads into an object is still not JSON.
  checkContentType(request.headers['content-type']);
  if (typeof parsed === 'object' && parsed !== null && !Buffer.isBuffer(parsed)) return objectOf(parsed);
  const alreadyRead =
    typeof parsed === 'string' ? Buffer.from(parsed) : Buffer.isBuffer(parsed) ? parsed : undefined;
  const bytes =
    alreadyRead ?? (await decompressed(request, await bytesOf(request, limits, exchange), limits));
  return objectOf(parseJson(bytes));
}

function checkContentType(header: string | undefined): void {
  if (header === undefined || header === 'application/json') return;
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  if (!/^\s*application\/([\w.-]+\+)?json\s*$/.test(type)) {
    throw malformed(`Content-Type: must be application/json, not '${type.trim().slice(0, 64)}'.`);
  }
  const charset = parameters.map(text => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(text)?.[1]).find(Boolean);
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw malformed(`Content-Type: the charset must be utf-8, not '${charset.slice(0, 64)}'.`);
  }
}

function tooLarge(max_body_bytes: number): GatewayError {
  return refusal('body_too_large', {
    message: `The request body is larger than the ${max_body_bytes} bytes accepted.`,
    // The rest of it is not read for ever, so the connection is no good for another request.
    headers: { connection: 'close' },
  });
}

function bytesOf(
  request: IncomingMessage,
  { max_body_bytes, body_idle_ms }: BodyLimits,
  exchange: Exchange,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length']);
  if (announced > max_body_bytes) return Promise.reject(tooLarge(max_body_bytes));
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let total_bytes = 0;
    const timer = setTimeout(
      () => done(malformed(`The request body did not arrive: nothing for ${body_idle_ms / 1000} seconds.`)),
      body_idle_ms,
    );
    const onData = (part: Buffer) => {
      total_bytes += part.length;
      if (total_bytes > max_body_bytes) return done(tooLarge(max_body_bytes));
      parts.push(part);
      timer.refresh();
    };
    const onEnd = () => done(undefined);
    const onClose = () => done(new UploadAborted('the client left while sending its request'));
    const onAbort = () => (exchange.client_gone ? onClose() : done(refusal('server_error')));
    const done = (error: Error | undefined) => {
      clearTimeout(timer);
      exchange.offAbort(onAbort);
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      if (error) {
        request.pause();
        reject(error);
      } else resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, total_bytes));
    };
    if (request.destroyed && !request.complete) return onClose();
    if (request.readableEnded) {
      const cause = new Error('another middleware has read the body and left no request.body');
      return done(refusal('server_error', { cause }));
    }
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
    exchange.onAbort(onAbort);
  });
}

async function decompressed(
  request: IncomingMessage,
  bytes: Buffer,
  { max_body_bytes }: BodyLimits,
): Promise<Buffer> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity') return bytes;
  if (!Object.hasOwn(decompressors, encoding)) {
    throw malformed(
      `Content-Encoding: must be one of gzip, deflate, br or identity, not '${encoding.slice(0, 64)}'.`,
    );
  }
  try {
    return await decompressors[encoding as Encoding](bytes, { maxOutputLength: max_body_bytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(max_body_bytes);
    throw malformed(`Content-Encoding: the body is not valid ${encoding}.`, cause);
  }
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw malformed('The request body is empty; send a JSON object.');
  if (!isUtf8(bytes)) throw malformed('The request body is not valid UTF-8.');
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  try {
    return JSON.parse(bytes.toString('utf8', marked ? 3 : 0));
  } catch (cause) {
    const at = /position \d+(?: \(line \d+ column \d+\))?/.exec((cause as Error).message)?.[0];
    throw malformed(`The request body is not valid JSON${at ? `: error at ${at}` : ''}.`, cause);
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed('The request body must be a JSON object.');
  }
  checkDepth(value as Record<string, unknown>);
  return value as Record<string, unknown>;
}
