import type { Chunk, StreamDecoder } from '../../src/gateway/exchange/canonical.ts';
import { StreamReader } from '../../src/gateway/upstream/http/stream-reader.ts';
import type { Body } from '../../src/gateway/upstream/http/upstream-call.ts';

const wide = { max_event_bytes: 1_000_000, max_reply_bytes: 1_000_000 };

/** What a stream reader passes on: the chunks, and the error that the stream ends with. */
export interface ReadStream {
  readonly chunks: Chunk[];
  fault: unknown;
}

/** A stream reader over `decoder`, and what it has passed on so far. */
export function readerOf(decoder: StreamDecoder, limits = wide): { reader: StreamReader; read: ReadStream } {
  const read: ReadStream = { chunks: [], fault: undefined };
  const owner = {
    isOver: false,
    give: (chunks: readonly Chunk[]) => read.chunks.push(...chunks) > 0,
    finish: () => void (owner.isOver = true),
    fault: (thrown: unknown) => {
      if (!owner.isOver) read.fault = thrown;
      owner.isOver = true;
    },
  };
  return { reader: new StreamReader(decoder, owner, limits), read };
}

/** The stream that comes in these parts, or as this body. */
export function readStream(
  decoder: StreamDecoder,
  from: readonly Buffer[] | Body,
  limits = wide,
): ReadStream {
  const { reader, read } = readerOf(decoder, limits);
  if ('readInto' in from) reader.read(from);
  else {
    for (const part of from) reader.bytes(part);
    reader.end();
  }
  reader.close();
  return read;
}
