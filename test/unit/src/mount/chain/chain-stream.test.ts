import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { Chain } from '../../../../../src/gateway/exchange/chain.ts';
import { fromGenerator } from '../../../../../src/gateway/exchange/from-generator.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import type { StreamTransformer } from '../../../../../src/gateway/exchange/stream.ts';
import { outcomeOf } from '../../../../../src/gateway/settlement/settle.ts';
import { chunkOf, collected, streamOf, through } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

function entered(stages: readonly Stage[]) {
  const exchange = sampleExchange({ request: {} });
  const passage = new Chain(stages).enter(exchange);
  return { exchange, passage, settle: () => passage.onSettled(outcomeOf(exchange)) };
}

describe('a stream through the stages', () => {
  /** Passes everything on, and says when it was closed. */
  const passing = (name: string, closed: string[]): Stage => ({
    name,
    onStream: () =>
      fromGenerator(async function* (chunks) {
        try {
          yield* chunks;
        } finally {
          closed.push(name);
        }
      }),
  });

  async function* endless(closed: string[]): AsyncGenerator<Chunk> {
    try {
      while (true) yield chunkOf({ content: 'x' });
    } finally {
      closed.push('source');
    }
  }

  it('closes its source when its reader leaves', async () => {
    const closed: string[] = [];
    const { passage } = entered([passing('a', closed), { name: 'idle' }, passing('b', closed)]);
    let read = 0;
    for await (const _ of through(passage, endless(closed))) if (++read === 3) break;
    // Generators run their own `finally`.
    await turn();
    expect(closed.sort()).toEqual(['a', 'b', 'source']);
  });

  it('lets its reader leave even where a generator does not return', async () => {
    const closed: string[] = [];
    const holding: Stage = {
      name: 'holding',
      onStream: () =>
        fromGenerator(async function* (chunks) {
          try {
            yield* chunks;
          } finally {
            await new Promise(() => {});
          }
        }),
    };
    const { passage } = entered([holding]);
    for await (const _ of through(passage, endless(closed))) break;
    await turn();
    expect(closed).toEqual(['source']);
  });

  it('closes what is below a stage that ends it early', async () => {
    const closed: string[] = [];
    const taking: Stage = {
      name: 'two',
      onStream: () =>
        fromGenerator(async function* (chunks) {
          let left = 2;
          for await (const chunk of chunks) {
            yield chunk;
            if (--left === 0) return;
          }
        }),
    };
    const { passage } = entered([passing('a', closed), taking, passing('b', closed)]);
    expect((await collected(through(passage, endless(closed)))).chunks).toHaveLength(2);
    expect(closed.sort()).toEqual(['a', 'b', 'source']);
  });

  it('cancels the transformers that it has when a later stage fails to make its own', () => {
    const cancelled: string[] = [];
    const made: Stage = {
      name: 'made',
      onStream: () => ({ transform() {}, cancel: () => void cancelled.push('made') }),
    };
    const failing: Stage = {
      name: 'failing',
      onStream() {
        throw new Error('bug');
      },
    };
    expect(() => through(entered([failing, made]).passage, streamOf([]))).toThrow('bug');
    expect(cancelled).toEqual(['made']);
  });

  it('refuses a promise of a transformer, and cancels the transformer when it comes', async () => {
    const cancelled = Promise.withResolvers<void>();
    const late = Promise.withResolvers<StreamTransformer>();
    const promising = { name: 'promising', onStream: () => late.promise } as unknown as Stage;
    expect(() => through(entered([promising]).passage, streamOf([]))).toThrow('returned a promise');
    late.resolve({ transform() {}, cancel: cancelled.resolve });
    await cancelled.promise;
  });
});
