import type { Chunk, Completion } from '../canonical.ts';
import { chunkOf, EventReader } from '../upstream/http/decode-reply.ts';
import { decodeOpenAiReply } from '../upstream/openai/openai-format.ts';
import { isInOrder, replyOf, resultOf } from './result.ts';
import { SteadyDecoder } from './steady-format.ts';
import { cutAt, cutEverywhere, placeName, placesIn } from './text-cuts.ts';
import type { StreamFixture } from './wire.ts';

/** One way in which a fixture may arrive. */
export interface Arrival {
  /** For messages. */
  readonly cut: string;
  /** `pause` is waited for where the wire is cut. */
  open(pause: () => Promise<void>): AsyncIterable<Chunk>;
}

/** A fixture, decoded, and all the ways in which it may arrive. */
export interface ReadFixture {
  readonly name: string;
  /** Uncut, as JSON, so that every run has objects of its own. */
  readonly chunks_json: string;
  readonly whole: Arrival;
  readonly cuts: readonly Arrival[];
  /** The whole reply in place of the stream, if it can say the same: reasoning, then content, then tool calls, then the end. */
  readonly reply: Completion | undefined;
}

const limits = { max_event_bytes: 1_048_576, max_reply_bytes: 67_108_864 };
const known = new WeakMap<StreamFixture, Promise<ReadFixture>>();

/** Decodes a fixture once, at every cut. */
export function readFixture(fixture: StreamFixture): Promise<ReadFixture> {
  let read = known.get(fixture);
  if (!read) known.set(fixture, (read = readAnew(fixture)));
  return read;
}

async function readAnew({ name, wire }: StreamFixture): Promise<ReadFixture> {
  const bytes = Buffer.from(wire);
  const decode: Decode = parts => decoded(parts, new EventReader(new SteadyDecoder(wire), limits));
  const chunks: Chunk[] = [];
  try {
    for await (const chunk of decode(inPieces([bytes]))) chunks.push(chunk);
  } catch (cause) {
    throw new Error(`the fixture ${name} is not a whole stream in OpenAI's format`, { cause });
  }
  const chunks_json = JSON.stringify(chunks);
  const result = resultOf(chunks);
  const reply = isInOrder(result) ? decodeOpenAiReply(replyOf(result)) : undefined;
  const whole = { cut: 'uncut', open: () => decode(inPieces([bytes])) };
  const cuts = [...(await wireCuts(name, bytes, chunks_json, decode)), ...textCuts(chunks_json)];
  if (reply) cuts.push(plain(reply));
  return { name, chunks_json, whole, cuts, reply };
}

type Decode = (parts: AsyncIterable<Buffer>) => AsyncIterable<Chunk>;

/**
 * The wire in two, at every byte. A stage sees of a cut only how many chunks have come before the pause, so of the cuts that are
 * the same to it one is run; all are decoded.
 */
async function wireCuts(
  name: string,
  bytes: Buffer,
  chunks_json: string,
  decode: Decode,
): Promise<Arrival[]> {
  const byChunksBefore = new Map<number, Arrival>();
  for (let at = 1; at < bytes.length; at++) {
    const parts = [bytes.subarray(0, at), bytes.subarray(at)];
    const chunks: Chunk[] = [];
    let before = 0;
    const paused = inPieces(parts, () => {
      before = chunks.length;
    });
    for await (const chunk of decode(paused)) chunks.push(chunk);
    if (JSON.stringify(chunks) !== chunks_json)
      throw new Error(`the fixture ${name} is decoded otherwise when it is cut at byte ${at}`);
    if (byChunksBefore.has(before)) continue;
    const cut = `wire at byte ${at} of ${bytes.length}`;
    byChunksBefore.set(before, { cut, open: pause => decode(inPieces(parts, pause)) });
  }
  return [...byChunksBefore.values()];
}

function textCuts(chunks_json: string): Arrival[] {
  const chunks = () => JSON.parse(chunks_json) as Chunk[];
  const arrival = (cut: string, cutChunks: () => Chunk[]): Arrival => ({
    cut,
    open: () => streamOf(cutChunks()),
  });
  return [
    ...[...placesIn(chunks())].map(place => arrival(placeName(place), () => cutAt(chunks(), place))),
    arrival('every character a chunk of its own', () => cutEverywhere(chunks())),
  ];
}

/** Some servers answer a streamed request with a plain reply (protocol k4). */
function plain(reply: Completion): Arrival {
  const text = JSON.stringify(reply);
  return {
    cut: 'all in one chunk',
    open: () => streamOf([chunkOf(decodeOpenAiReply(JSON.parse(text)))]),
  };
}

async function* decoded(parts: AsyncIterable<Buffer>, reader: EventReader): AsyncGenerator<Chunk> {
  for await (const part of parts) {
    yield* reader.read(part);
    if (reader.fault !== undefined) throw reader.fault;
    if (reader.done) return;
  }
  yield* reader.end();
  if (reader.fault !== undefined) throw reader.fault;
}

async function* streamOf(chunks: readonly Chunk[]): AsyncGenerator<Chunk> {
  yield* chunks;
}

async function* inPieces(
  parts: readonly Buffer[],
  between: () => void | Promise<void> = () => {},
): AsyncGenerator<Buffer> {
  for (const [at, part] of parts.entries()) {
    if (at > 0) await between();
    yield part;
  }
}
