import type { Chunk } from '../canonical.ts';
import { pushIterable } from '../chain/push-iterable.ts';
import { metered } from '../settlement/metered-stream.ts';
import { StreamMeter } from '../settlement/stream-meter.ts';
import type { Breach, ContractError, Rule } from './contract-error.ts';
import { PulledStream } from './pulled-stream.ts';
import { type Setting, settle, type Way } from './setting.ts';
import { within } from './turn.ts';

/** What a reader had of a stream at its end. */
export interface Reading {
  readonly chunks: readonly Chunk[];
  /** What the stream threw. */
  readonly fault: unknown;
  /** False when it ended without a fault. */
  readonly failed: boolean;
}

type Where = Pick<Breach, 'fixture' | 'cut'>;

/** The stream that a client would read, metered as the gateway does it. `onRead` is called when a chunk of `source` is asked for. */
export function openStream(
  { metrics }: Setting,
  { exchange, passage }: Way,
  source: AsyncIterable<Chunk>,
  onRead: () => void = () => {},
): PulledStream {
  const chunks = source[Symbol.asyncIterator]();
  const watched: AsyncIterableIterator<Chunk> = {
    next: () => {
      onRead();
      return chunks.next();
    },
    return: async () => (await chunks.return?.(undefined)) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]: () => watched,
  };
  const counted = metered(pushIterable(watched), new StreamMeter(exchange, metrics));
  return new PulledStream(passage.onStream(counted));
}

/** Reads `source` through the stage to its end, within the time that a reply may take. */
export async function readThrough(
  setting: Setting,
  source: AsyncIterable<Chunk>,
  where: Where,
): Promise<Reading> {
  const way = await setting.begin(true);
  const chunks: Chunk[] = [];
  const reading = async (): Promise<Reading> => {
    try {
      for await (const chunk of openStream(setting, way, source)) chunks.push(chunk);
      return { chunks, fault: undefined, failed: false };
    } catch (fault) {
      way.passage.onError(fault);
      return { chunks, fault, failed: true };
    }
  };
  try {
    const read = await within(setting.timeout_ms, reading(), () =>
      hangs(setting, 'ending', where, 'its stream does not end'),
    );
    const wrong = read.chunks.findIndex(chunk => !Array.isArray(chunk?.choices));
    if (wrong === -1) return read;
    const values = { expected: 'an object with choices', got: read.chunks[wrong] };
    throw setting.breach({ rule: 'conservation', ...where, problem: 'yields what is no chunk', ...values });
  } finally {
    settle(way);
  }
}

/** The same for a source without fault. */
export async function readWhole(
  setting: Setting,
  source: AsyncIterable<Chunk>,
  where: Where,
): Promise<readonly Chunk[]> {
  const { chunks, fault, failed } = await readThrough(setting, source, where);
  if (!failed) return chunks;
  const problem = 'throws in the stream of a reply that has no fault';
  throw setting.breach({ rule: 'refusals', ...where, problem, expected: 'no throw', got: fault }, fault);
}

/** The breach of a stage that keeps its reader waiting. */
export function hangs(setting: Setting, rule: Rule, where: Where, problem: string): ContractError {
  return setting.breach({
    rule,
    ...where,
    problem,
    expected: `an end within ${setting.timeout_ms} ms`,
    got: 'silence',
  });
}
