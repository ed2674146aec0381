import { decompressorFor } from '../../common/decompressors.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';
import { type BodyLimits, tooLarge } from './body-limits.ts';
import { arriving_factor } from './body-memory.ts';
import type { BufferedBody } from './buffered-bytes.ts';

/** Decompressed bytes allowed to any body: a ratio means little for a small one. */
const allowance_bytes = 1024 * 1024;
/** Four times zlib's default, for fewer turns of the event loop. */
const chunk_bytes = 65_536;

/**
 * Decodes a body by its `Content-Encoding`. Stops where the output exceeds `max_body_bytes` or `max_decompression_ratio`, so that no more
 * is ever held.
 */
export async function decompressed(
  bytes: Buffer,
  header: string,
  limits: BodyLimits,
  buffered: BufferedBody,
): Promise<Buffer> {
  const encoding = header.trim().toLowerCase();
  if (encoding === 'identity') return bytes;
  const create = decompressorFor(encoding);
  if (!create) throw unacceptedEncoding(encoding);
  const parts: Buffer[] = [];
  const { max_body_bytes, max_decompression_ratio } = limits;
  const expanded_bytes = allowance_bytes + bytes.length * max_decompression_ratio;
  let total_bytes = 0;
  const stream = create({ chunkSize: chunk_bytes });
  stream.end(bytes);
  try {
    for await (const part of stream as AsyncIterable<Buffer>) {
      total_bytes += part.length;
      if (total_bytes > max_body_bytes) throw tooLarge(max_body_bytes);
      if (total_bytes > expanded_bytes) throw expandsTooMuch(expanded_bytes, bytes.length, encoding);
      buffered.add(arriving_factor * part.length);
      parts.push(part);
    }
  } catch (thrown) {
    if (typeof (thrown as { errno?: unknown }).errno !== 'number') throw thrown;
    throw invalidCompression(encoding, thrown);
  }
  return Buffer.concat(parts, total_bytes);
}

const malformed = (problem: string, cause?: unknown): GatewayError =>
  refusal('invalid_request', { message: `Content-Encoding: ${problem}`, cause });

/** Error for an encoding that is not accepted, or not by the application's own parser. */
export const unacceptedEncoding = (encoding: string): GatewayError =>
  decompressorFor(encoding)
    ? malformed(`must be identity here, not '${encoding}'.`)
    : malformed(`must be one of gzip, deflate, br or identity, not '${encoding.slice(0, 64)}'.`);

/** Error for a body that is not compressed as its header says. */
export const invalidCompression = (encoding: string, cause: unknown): GatewayError =>
  malformed(`the body is not valid ${encoding}.`, cause);

const expandsTooMuch = (accepted_bytes: number, bytes: number, encoding: string): GatewayError =>
  refusal('body_too_large', {
    message: `The request body decompresses to more than the ${accepted_bytes} bytes accepted of ${bytes} bytes of ${encoding}.`,
  });
