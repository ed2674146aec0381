import type { Readable, Transform } from 'node:stream';
import { decompressorFor } from '../../../common/decompressors.ts';
import { refusal } from '../../exchange/errors.ts';
import type { Body, BodyConsumer, ResponseHead } from './upstream-call.ts';

/** Encodings that can be asked for: those that are read. */
export const readEncodings = ['gzip', 'br', 'deflate', 'identity'] as const;

/** Bytes of an error body that are read: some servers repeat the whole prompt in it. */
const error_body_bytes = 1024 * 1024;
/** Time to read an error body: its status is known, and a client waits for it. */
const error_body_ms = 3000;

type Head = Pick<ResponseHead, 'headers'>;

/** Pushes a Node stream to a consumer; `source` is the body behind it. */
export class StreamBody implements Body {
  readonly #stream: Readable;
  readonly #source: Body | undefined;

  constructor(stream: Readable, source?: Body) {
    this.#stream = stream;
    this.#source = source;
    // An error may come before the consumer.
    stream.on('error', () => {});
  }

  readInto(consumer: BodyConsumer): void {
    const stream = this.#stream;
    stream.on('end', () => consumer.end());
    stream.on('error', error => consumer.fail(error));
    stream.on('data', part => {
      if (!consumer.bytes(part)) stream.pause();
    });
  }

  resume(): void {
    this.#stream.resume();
  }

  cancel(reason: Error): void {
    this.#stream.destroy(reason);
  }

  release(patience_ms: number): void {
    this.#source?.release(patience_ms);
    this.resume();
  }
}

/** Creates the decompressor of a reply: undefined if it needs none, null if its encoding is unknown. */
export function decompressorOf({ headers }: Head): (() => Transform) | undefined | null {
  const encoding = String(headers['content-encoding'] ?? 'identity')
    .trim()
    .toLowerCase();
  if (encoding === 'identity' || encoding === '') return undefined;
  return decompressorFor(encoding) ?? null;
}

/** The body, decompressed if the upstream compressed it unasked. */
export function decompressed(body: Body, head: Head): Body {
  const create = decompressorOf(head);
  if (create === undefined) return body;
  if (create === null) {
    const cause = new Error(`content-encoding ${head.headers['content-encoding']}`);
    body.cancel(cause);
    throw refusal('provider_invalid', { cause });
  }
  const plain = create();
  plain.on('drain', () => body.resume());
  plain.on('close', () => body.cancel(new Error('the reply is not read on')));
  body.readInto({
    bytes: part => plain.write(part),
    end: () => plain.end(),
    fail: error => plain.destroy(error),
  });
  return new StreamBody(plain, body);
}

/** Takes the text of a body, or the error that kept it from being read. */
export interface TextOwner {
  text(text: string): void;
  failed(error: Error): void;
}

/** Reads the whole body as text; what is larger than `max_bytes` is `provider_invalid`. */
export function readText(body: Body, max_bytes: number, owner: TextOwner): void {
  const tooLarge = () => refusal('provider_invalid', { cause: new Error(`a reply over ${max_bytes} bytes`) });
  body.readInto(new TextReader(body, max_bytes, owner, tooLarge));
}

/** The whole body as text. Throws `provider_invalid` when it is larger than `max_bytes`. */
export const textOf = (body: Body, max_bytes: number): Promise<string> =>
  new Promise((text, failed) => readText(body, max_bytes, { text, failed }));

/** The first `max_bytes` of the body as text. Ends the body there. */
export const beginningOf = (body: Body, max_bytes: number): Promise<string> =>
  new Promise((text, failed) => body.readInto(new TextReader(body, max_bytes, { text, failed })));

/** UTF-8 as text, without the byte order mark that some servers begin with, and that no JSON may have. */
function decoded(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Collects a body. Above `max_bytes` it ends the body, and fails with `tooLarge` or takes the bytes so far. */
class TextReader implements BodyConsumer {
  readonly #body: Body;
  readonly #max_bytes: number;
  readonly #owner: TextOwner;
  readonly #tooLarge: (() => Error) | undefined;
  /** Most replies come in one. */
  #parts: Buffer[] | undefined;
  #total_bytes = 0;

  constructor(body: Body, max_bytes: number, owner: TextOwner, tooLarge?: () => Error) {
    this.#body = body;
    this.#max_bytes = max_bytes;
    this.#owner = owner;
    this.#tooLarge = tooLarge;
  }

  bytes(part: Buffer): boolean {
    if (this.#parts) this.#parts.push(part);
    else this.#parts = [part];
    this.#total_bytes += part.length;
    if (this.#total_bytes <= this.#max_bytes) return true;
    const error = this.#tooLarge?.();
    // The call may have ended before its body was read.
    if (error) this.fail(error);
    else this.end();
    this.#body.cancel(error ?? new Error('the body is not read on'));
    return true;
  }

  end(): void {
    const parts = this.#parts ?? [];
    const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts, this.#total_bytes);
    this.#owner.text(decoded(bytes.subarray(0, this.#max_bytes)));
  }

  fail(error: Error): void {
    this.#owner.failed(error);
  }
}

/** The beginning of an error body as text; empty if it cannot be read or takes more than three seconds. Ends the body. */
export async function errorTextOf(body: Body, head: Head): Promise<string> {
  const end = () => body.cancel(new Error('the error body is not read on'));
  const limit = setTimeout(end, error_body_ms);
  try {
    return await beginningOf(decompressed(body, head), error_body_bytes);
  } catch {
    return '';
  } finally {
    clearTimeout(limit);
    end();
  }
}
