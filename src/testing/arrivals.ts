import type { Chunk, Completion } from '../gateway/exchange/canonical.ts';
import { chunkOf } from '../gateway/upstream/http/decode-reply.ts';
import { StreamReader } from '../gateway/upstream/http/stream-reader.ts';
import { decodeOpenAiReply } from '../gateway/upstream/openai/openai-format.ts';
import { OpenAiStreamDecoder } from '../gateway/upstream/openai/openai-stream-decoder.ts';
import { isInOrder, replyOf, resultOf } from './result.ts';
import { cutAt, cutEverywhere, placeName, placesIn } from './text-cuts.ts';
import type { StreamFixture } from './wire.ts';

/** One way in which a fixture may arrive. */
export interface Arrival {
  /** For messages. */
  readonly cut: string;
  /** Creates new objects at each call, because a stage may change them. */
  chunks(): Chunk[];
  /** Index of the chunk before which the upstream pauses; the number of chunks for a pause before the end. */
  readonly pause_before?: number;
}

/** A decoded fixture, and all the ways in which it may arrive. */
export interface ReadFixture {
  readonly name: string;
  readonly whole: Arrival;
  readonly cuts: readonly Arrival[];
  /** The reply that is not streamed and says the same; only for a stream that has reasoning, content, tool calls in this order. */
  readonly reply: Completion | undefined;
}

const limits = { max_event_bytes: 1_048_576, max_reply_bytes: 67_108_864 };
const known = new WeakMap<StreamFixture, ReadFixture>();

/** Decodes a fixture, once for all stages. Throws if it is not a whole stream. */
export function readFixture(fixture: StreamFixture): ReadFixture {
  let read = known.get(fixture);
  if (!read) known.set(fixture, (read = readAnew(fixture)));
  return read;
}

function readAnew({ name, wire }: StreamFixture): ReadFixture {
  const bytes = Buffer.from(wire);
  const read: Chunk[] = [];
  /** Chunks that had come before each byte. */
  const chunks_before: number[] = [];
  let error: unknown;
  const owner = {
    isOver: false,
    give: (chunks: readonly Chunk[]) => read.push(...chunks) > 0,
    finish: () => void (owner.isOver = true),
    fault: (thrown: unknown) => {
      owner.isOver = true;
      error = thrown;
    },
  };
  const reader = new StreamReader(new OpenAiStreamDecoder(), owner, limits);
  for (let at = 0; at < bytes.length && !owner.isOver; at++) {
    chunks_before.push(read.length);
    reader.bytes(bytes.subarray(at, at + 1));
  }
  reader.end();
  reader.close();
  if (error !== undefined)
    throw new Error(`the fixture ${name} is not a whole stream in OpenAI's format`, { cause: error });
  const chunks = copiesOf(read);
  const result = resultOf(read);
  const reply = isInOrder(result) ? decodeOpenAiReply(replyOf(read, result)) : undefined;
  const cuts = [...wireCuts(chunks, chunks_before, bytes.length), ...textCuts(chunks)];
  // Some servers answer a streamed request with a plain reply.
  if (reply) cuts.push({ cut: 'all in one chunk', chunks: copiesOf([chunkOf(reply)]) });
  return { name, whole: { cut: 'uncut', chunks }, cuts, reply };
}

function copiesOf(chunks: readonly Chunk[]): () => Chunk[] {
  const json = JSON.stringify(chunks);
  return () => JSON.parse(json) as Chunk[];
}

/**
 * The wire in two, cut at every byte. All that a stage notices of a cut is how many chunks come before the pause, so one cut is run
 * for each such number.
 */
function wireCuts(chunks: () => Chunk[], chunks_before: readonly number[], total_bytes: number): Arrival[] {
  const first = new Map<number, number>();
  for (const [at, count] of chunks_before.entries()) if (at > 0 && !first.has(count)) first.set(count, at);
  return [...first].map(([pause_before, at]) => ({
    cut: `wire at byte ${at} of ${total_bytes}`,
    chunks,
    pause_before,
  }));
}

const textCuts = (chunks: () => Chunk[]): Arrival[] => [
  ...[...placesIn(chunks())].map(place => ({
    cut: placeName(place),
    chunks: () => cutAt(chunks(), place),
  })),
  { cut: 'every character a chunk of its own', chunks: () => cutEverywhere(chunks()) },
];
