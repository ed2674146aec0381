import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { AnswerSource } from '../../../../../src/gateway/exchange/answer-source.ts';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { discardAnswer } from '../../../../../src/gateway/exchange/hook-result.ts';
import type { Answer } from '../../../../../src/gateway/exchange/stage.ts';
import { until } from '../../../../support/until.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

/** Streams of each kind that have not been read; `close` is called when one is closed. */
const streams: Record<string, (close: () => void) => AsyncIterable<Chunk> | Iterable<Chunk>> = {
  'a stream of the Web': close => new ReadableStream<Chunk>({ cancel: close }, { highWaterMark: 0 }),
  'a stream of Node': close => new Readable({ objectMode: true, read() {}, destroy: close }),
  'an iterable of its own': close => ({
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<never>(() => {}),
      async return() {
        close();
        return { done: true, value: undefined };
      },
    }),
  }),
  'an iterator that fails to close': close => {
    const iterator: AsyncIterableIterator<Chunk> = {
      next: () => new Promise<never>(() => {}),
      async return() {
        close();
        throw new Error('closed before');
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  },
};

describe.each(Object.entries(streams))('an answer that is %s', (_, make) => {
  it('is closed when it is discarded', async () => {
    let isClosed = false;
    discardAnswer(make(() => (isClosed = true)));
    await until(() => isClosed);
  });

  it('is closed when its exchange ends before it was read', async () => {
    let isClosed = false;
    const source = new AnswerSource(
      sampleExchange({ request: {} }),
      make(() => (isClosed = true)),
      () => {},
    );
    source.cancel();
    await until(() => isClosed);
  });
});

it('ignores answers that hold nothing, and streams that are read elsewhere', () => {
  const locked = new ReadableStream<Chunk>();
  locked.getReader();
  const whole = { choices: [] } as unknown as Answer;
  for (const answer of [undefined, null, whole, [], locked])
    expect(() => discardAnswer(answer)).not.toThrow();
});
