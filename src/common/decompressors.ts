import { Transform, type TransformCallback } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Inflate,
  type InflateRaw,
} from 'node:zlib';

/** Creates the decompressor of a content coding; `chunkSize` is that of zlib. */
type CreateDecompressor = (options?: { readonly chunkSize?: number }) => Transform;

const decompressors: Readonly<Record<string, CreateDecompressor>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: options => new AnyInflate(options),
  br: createBrotliDecompress,
};

/** Returns the function that creates decompressors of a content coding, named in lower case; undefined for an unsupported one. */
export const decompressorFor = (encoding: string): CreateDecompressor | undefined =>
  Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined;

/** The compression method in the low half of the first byte that zlib writes; nothing else begins so. */
const zlib_method = 8;

/** Decompresses `deflate` with zlib's header, as the standard has it, and without, as some servers write it. */
class AnyInflate extends Transform {
  readonly #options: { readonly chunkSize?: number };
  #inner: Inflate | InflateRaw | undefined;

  constructor(options: { readonly chunkSize?: number } = {}) {
    super();
    this.#options = options;
  }

  override _transform(part: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    if (part.length === 0) return done();
    this.#inner ??= this.#begin(part[0]!);
    this.#inner.write(part, encoding, done);
  }

  override _flush(done: TransformCallback): void {
    if (!this.#inner) return done();
    this.#inner.once('end', () => done()).end();
  }

  override _read(size_bytes: number): void {
    this.#inner?.resume();
    super._read(size_bytes);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inner?.destroy();
    done(error);
  }

  #begin(first: number): Inflate | InflateRaw {
    const create = (first & 0x0f) === zlib_method ? createInflate : createInflateRaw;
    const inner = create(this.#options);
    // What expands a thousandfold waits for its reader.
    inner.on('data', part => this.push(part) || inner.pause());
    return inner.on('error', error => this.destroy(error));
  }
}
