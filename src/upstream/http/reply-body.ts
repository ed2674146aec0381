import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { refusal } from '../../errors.ts';
import type { ResponseHead, UpstreamCall } from './upstream-call.ts';

const decompressors = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Whether the body is as it was asked for: not compressed. */
export function isPlain({ headers }: ResponseHead): boolean {
  const encoding = headers['content-encoding'];
  return encoding === undefined || String(encoding).toLowerCase() === 'identity';
}

/** The body's bytes, decompressed if the upstream compressed them although it was asked not to. */
export function bytesOf(
  call: AsyncIterable<Buffer> & Partial<Pick<UpstreamCall, 'cancel'>>,
  { headers }: Pick<ResponseHead, 'headers'>,
): AsyncIterable<Buffer> {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity') return call;
  const create = decompressors[encoding as keyof typeof decompressors];
  if (!create) {
    call.cancel?.(new Error('the reply is not read'));
    throw refusal('provider_invalid', { cause: new Error(`content-encoding ${encoding}`) });
  }
  const source = Readable.from(call);
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

/** As much of the body as `max_bytes` hold: an error page is worth its beginning. */
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
