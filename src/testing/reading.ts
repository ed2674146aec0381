import type { Chunk } from '../gateway/exchange/canonical.ts';
import { pushIterable } from '../gateway/exchange/push-iterable.ts';
import type { ChunkSource } from '../gateway/exchange/stream.ts';
import { StreamMeter } from '../gateway/settlement/stream-meter.ts';
import type { Arrival, ReadFixture } from './arrivals.ts';
import type { Place, Rule } from './contract-error.ts';
import { PulledStream } from './pulled-stream.ts';
import type { Result } from './result.ts';
import { type Setting, type StageRun, settle } from './setting.ts';
import { Source } from './source.ts';

/** A fixture under check. */
export interface Case extends ReadFixture {
  /** What comes out of the stage when the fixture arrives uncut. */
  readonly uncut: Result;
  /** Another fixture. */
  readonly beside: ReadFixture;
}

/** Runs one exchange whose upstream is `source` through the stage. `read` takes the stream, metered as in the gateway, in at most `timeout_ms`. */
export async function throughStage<T>(
  setting: Setting,
  rule: Rule,
  place: Place,
  source: Source,
  read: (stream: PulledStream, run: StageRun) => Promise<T>,
  timeout_ms = setting.options.timeout_ms,
): Promise<T> {
  setting.watch.holding.clear();
  const run = await setting.begin(true, place);
  const meter = new StreamMeter(run.exchange, setting.metrics);
  const stream = new PulledStream(transformed(setting, place, run, source, meter));
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const values = { expected: `an end within ${timeout_ms} ms`, got: 'silence' };
    reject(setting.breach(rule, place, 'its stream does not end', values));
  }, timeout_ms);
  try {
    const result = await Promise.race([read(stream, run), late]);
    setting.checkWatch(place);
    return result;
  } finally {
    clearTimeout(timer);
    await stream.return();
    settle(run);
  }
}

function transformed(
  setting: Setting,
  place: Place,
  { chain }: StageRun,
  source: Source,
  meter: StreamMeter,
): ChunkSource {
  try {
    return chain.onStream(pushIterable(source), meter);
  } catch (got) {
    const values = { expected: 'no throw', got };
    throw setting.breach('refusals', place, 'throws in onStream', values);
  }
}

/** What a reader has received when the stream ends; with `fault` if it failed. */
export interface Reading {
  readonly chunks: readonly Chunk[];
  readonly fault?: { readonly thrown: unknown };
}

/** Reads `source` through the stage to its end. */
export async function readThrough(setting: Setting, place: Place, source: Source): Promise<Reading> {
  const chunks: Chunk[] = [];
  const reading = await throughStage(setting, 'ending', place, source, async (stream, run) => {
    try {
      for await (const chunk of stream) chunks.push(chunk);
      return { chunks };
    } catch (thrown) {
      run.chain.onError(thrown);
      return { chunks, fault: { thrown } };
    }
  });
  const wrong = chunks.findIndex(chunk => !Array.isArray(chunk?.choices));
  if (wrong === -1) return reading;
  const values = { expected: 'an object with choices', got: chunks[wrong] };
  throw setting.breach('conservation', place, 'yields what is no chunk', values);
}

/** Reads a fixture that arrives without fault. */
export async function readWhole(
  setting: Setting,
  fixture: string,
  arrival: Arrival,
): Promise<readonly Chunk[]> {
  const { cut, pause_before } = arrival;
  const source = new Source(arrival.chunks(), at => (at === pause_before ? setting.pause() : undefined));
  const { chunks, fault } = await readThrough(setting, { fixture, cut }, source);
  if (!fault) return chunks;
  const problem = 'throws in the stream of a reply that has no fault';
  throw setting.breach('refusals', { fixture, cut }, problem, { expected: 'no throw', got: fault.thrown });
}
