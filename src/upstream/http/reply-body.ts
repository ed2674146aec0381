import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { refusal } from '../../errors.ts';

const decompressors = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Bytes of an error body that are read: some servers repeat the whole prompt in it. */
const error_body_bytes = 1024 * 1024;
/** Time to read an error body: its status is known, and a client waits for it. */
const error_body_ms = 3000;

/** A body that is ended by `cancel` of a call or `destroy` of a stream. */
type Body = AsyncIterable<Buffer> & {
  readonly cancel?: (reason: Error) => void;
  readonly destroy?: (reason: Error) => void;
};

interface Head {
  readonly headers: IncomingHttpHeaders;
}

const encodingOf = ({ headers }: Head): string =>
  String(headers['content-encoding'] ?? 'identity').toLowerCase();

/** Whether the body is uncompressed, as requested. */
export const isPlain = (head: Head): boolean => encodingOf(head) === 'identity';

/** The body's bytes, decompressed if the upstream compressed them unasked. */
export function bytesOf(body: Body, head: Head): AsyncIterable<Buffer> {
  const encoding = encodingOf(head);
  if (encoding === 'identity') return body;
  const create = decompressors[encoding as keyof typeof decompressors];
  if (!create) {
    body.cancel?.(new Error('the reply is not read'));
    throw refusal('provider_invalid', { cause: new Error(`content-encoding ${encoding}`) });
  }
  const source = Readable.from(body);
  const plain = create();
  source.on('error', error => plain.destroy(error));
  plain.on('close', () => source.destroy());
  return source.pipe(plain);
}

/** The whole body as text. Throws `provider_invalid` when it is larger than `max_bytes`. */
export async function textOf(bytes: AsyncIterable<Buffer>, max_bytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let total_bytes = 0;
  for await (const part of bytes) {
    total_bytes += part.length;
    if (total_bytes > max_bytes)
      throw refusal('provider_invalid', { cause: new Error(`a reply over ${max_bytes} bytes`) });
    parts.push(part);
  }
  return (parts.length === 1 ? parts[0]! : Buffer.concat(parts, total_bytes)).toString('utf8');
}

/** The first `max_bytes` of the body as text. */
export async function beginningOf(bytes: AsyncIterable<Buffer>, max_bytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let total_bytes = 0;
  for await (const part of bytes) {
    parts.push(part);
    total_bytes += part.length;
    if (total_bytes >= max_bytes) break;
  }
  return Buffer.concat(parts).subarray(0, max_bytes).toString('utf8');
}

/** The beginning of an error body as text; empty if it cannot be read or takes more than three seconds. Ends the body. */
export async function errorTextOf(body: Body, headers: IncomingHttpHeaders): Promise<string> {
  const end = () => {
    const reason = new Error('the error body is not read on');
    if (body.cancel) body.cancel(reason);
    else body.destroy?.(reason);
  };
  const limit = setTimeout(end, error_body_ms);
  try {
    return await beginningOf(bytesOf(body, { headers }), error_body_bytes);
  } catch {
    return '';
  } finally {
    clearTimeout(limit);
    end();
  }
}
