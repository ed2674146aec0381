import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AnswerSource } from '../../../../../src/gateway/exchange/answer-source.ts';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

let unhandled: unknown[];
const listener = (reason: unknown) => void unhandled.push(reason);

beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', listener);
});
afterEach(() => void process.off('unhandledRejection', listener));

describe('an answer that is read no further', () => {
  it.each<[string, () => unknown]>([
    ['rejects', () => Promise.reject(new Error('closed before'))],
    [
      'throws',
      () => {
        throw new Error('closed before');
      },
    ],
  ])('is closed, and fails with its own fault where its iterator %s then', async (_, end) => {
    let closed = 0;
    const close = () => {
      closed++;
      return end();
    };
    const iterator = { next: async () => ({ done: false, value: 'no chunk' }), return: close };
    const answer = { [Symbol.asyncIterator]: () => iterator } as unknown as AsyncIterable<Chunk>;
    const source = new AnswerSource(sampleExchange({ request: {} }), answer, () => {
      throw new Error('its fault');
    });
    await expect(source.reply()).rejects.toThrow('its fault');
    await new Promise(setImmediate);
    expect([closed, unhandled]).toEqual([1, []]);
  });

  it('is begun once: what ends it while it is read does not begin it again', async () => {
    let begun = 0;
    const iterator = { next: () => new Promise<never>(() => {}), return: async () => {} };
    const begin = () => {
      begun++;
      return iterator;
    };
    const answer = { [Symbol.asyncIterator]: begin } as unknown as AsyncIterable<Chunk>;
    const exchange = sampleExchange({ request: {} });
    const reply = new AnswerSource(exchange, answer, () => {}).reply();
    exchange.abort('shutdown');
    await expect(reply).rejects.toMatchObject({ code: 'server_error' });
    expect(begun).toBe(1);
  });
});
