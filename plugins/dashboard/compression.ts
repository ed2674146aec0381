import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { acceptedEncodings } from '../../src/plugin.ts';

type Encoding = 'br' | 'gzip';

/** Less fits into a packet anyway. */
const min_bytes = 1000;
/** Pages are compressed while somebody waits; files, which are given as bytes, once. */
const [page_quality, file_quality] = [4, 10];

/** Files that have been compressed, for as long as they are there. */
const files = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

/** The first of `encodings` that a browser accepts. */
export function encodingFor<E extends Encoding>(
  { headers }: IncomingMessage,
  encodings: readonly E[],
): E | undefined {
  const accepted = acceptedEncodings(String(headers['accept-encoding'] ?? ''), encodings);
  return encodings.find(name => accepted[0]?.startsWith(name));
}

/** A body as the browser takes it, with its encoding; undefined as it is. */
export async function compressed(
  request: IncomingMessage,
  body: string | Buffer,
): Promise<{ readonly encoding: Encoding; readonly bytes: Buffer } | undefined> {
  const encoding = body.length < min_bytes ? undefined : encodingFor(request, ['br', 'gzip']);
  if (!encoding) return undefined;
  if (typeof body === 'string') return { encoding, bytes: await compress[encoding](body, page_quality) };
  const known = files.get(body) ?? new Map<Encoding, Promise<Buffer>>();
  files.set(body, known);
  const bytes = known.get(encoding) ?? compress[encoding](body, file_quality);
  known.set(encoding, bytes);
  return { encoding, bytes: await bytes };
}

type Compress = (body: string | Buffer, quality: number) => Promise<Buffer>;

const compress: Readonly<Record<Encoding, Compress>> = {
  br: (body, quality) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
  gzip: body => promisify(gzip)(body),
};
