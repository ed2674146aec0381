import { describe, expect, it } from '@jest/globals';
import { Chain } from '../../../../../src/gateway/exchange/chain.ts';
import { fromGenerator } from '../../../../../src/gateway/exchange/from-generator.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import { until } from '../../../../support/until.ts';
import { chunkOf, collected, streamOf, through } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { measured, pass, reply } from '../../mount/chain/measured-chain.ts';

const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms));
/** Time that passes nowhere else: the processor is busy for it. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('the duration of a stage', () => {
  it('is observed once per hook that ran, when the exchange is settled', async () => {
    const stages: Stage[] = [
      {
        name: 'a',
        onHeaders: () => {},
        onRequest: async () => {},
        onStream: pass,
        onError: (_, error) => error,
      },
      { name: 'b', onRequest: () => {}, onReply: (_, given) => given },
    ];
    const { passage, settle, counts } = measured(stages);
    await passage.onHeaders();
    await passage.onRequest();
    await collected(through(passage, streamOf([chunkOf({ content: 'x' }), chunkOf({ content: 'y' })])));
    expect(await counts()).toEqual({});
    settle();
    settle();
    expect(await counts()).toEqual({
      'stage=a,hook=onHeaders': 1,
      'stage=a,hook=onRequest': 1,
      'stage=a,hook=onStream': 1,
      'stage=b,hook=onRequest': 1,
    });
  });

  it('is in the outcome, with when each hook began, in that order, without onSettled', async () => {
    const stages: Stage[] = [
      { name: 'a', onHeaders: () => work(5), onReply: (_, given) => given },
      { name: 'b', onHeaders: () => {}, onRequest: () => wait(5), onSettled: () => {} },
    ];
    const { passage, outcome } = measured(stages);
    await passage.onHeaders();
    await passage.onRequest();
    await passage.onReply(reply);
    passage.onSettled(outcome());
    const [first, second, third, last, ...more] = outcome().stages;
    expect([first, second, third, last].map(each => `${each!.stage} ${each!.hook}`)).toEqual([
      'a onHeaders',
      'b onHeaders',
      'b onRequest',
      'a onReply',
    ]);
    expect(more).toEqual([]);
    expect(first!.own_ms).toBeGreaterThanOrEqual(5);
    expect(second!.offset_ms).toBeGreaterThanOrEqual(first!.offset_ms + 5);
    expect(last!.offset_ms).toBeGreaterThanOrEqual(third!.offset_ms + 4);
    expect(third!.own_ms).toBe(Math.round(third!.own_ms * 100) / 100);
  });

  it('is in the outcome for 64 hooks at most', () => {
    const { passage, outcome } = measured(
      Array.from({ length: 70 }, (_, at) => ({ name: `stage-${at}`, onHeaders: () => {} })),
    );
    void passage.onHeaders();
    expect(outcome().stages).toHaveLength(64);
  });

  it('is observed in onError and onSettled too', async () => {
    const stage: Stage = { name: 'a', onError: (_, error) => error, onSettled: () => {} };
    const { passage, settle, counts } = measured([stage]);
    passage.onError(new Error('bug'));
    settle();
    expect(await counts()).toEqual({ 'stage=a,hook=onError': 1, 'stage=a,hook=onSettled': 1 });
  });

  it('has a series for every hook of every stage before the first exchange', async () => {
    const { allCounts } = measured([
      { name: 'a', onError: (_, error) => error },
      { name: 'b', onHeaders: () => {}, onSettled: () => {}, close: async () => {} },
    ]);
    expect(await allCounts()).toEqual({
      'stage=a,hook=onError': 0,
      'stage=b,hook=onHeaders': 0,
      'stage=b,hook=onSettled': 0,
    });
  });

  it('includes runs that threw, at once or later', async () => {
    const busy = (): never => {
      work(30);
      throw new Error('bug');
    };
    const stage: Stage = { name: 'a', onError: busy, onSettled: () => wait(30).then(busy) };
    const { passage, settle, seconds, counts, refusals } = measured([stage]);
    passage.onError(new Error('another'));
    settle();
    expect(await counts()).toEqual({ 'stage=a,hook=onError': 1 });
    await until(async () => Object.keys(await counts()).length === 2);
    for (const hook of ['onError', 'onSettled'])
      expect((await seconds())[`stage=a,hook=${hook}`]).toBeGreaterThan(0.025);
    expect(await refusals()).toEqual({
      'stage=a,hook=onError,error_type=server_error': 1,
      'stage=a,hook=onSettled,error_type=server_error': 1,
    });
  });

  it('of a hook that is given up is observed once, with its failure', async () => {
    let reject: (fault: Error) => void = () => {};
    const stage: Stage = { name: 'a', onHeaders: () => new Promise((_, fail) => (reject = fail)) };
    const { passage, settle, seconds, counts, refusals } = measured([stage]);
    const refused = passage.onHeaders();
    await wait(40);
    passage.abandon();
    await expect(refused).rejects.toMatchObject({ type: 'server_error' });
    reject(new Error('late'));
    await wait(0);
    settle();
    expect(await counts()).toEqual({ 'stage=a,hook=onHeaders': 1 });
    expect((await seconds())['stage=a,hook=onHeaders']).toBeGreaterThan(0.03);
    expect(await refusals()).toEqual({ 'stage=a,hook=onHeaders,error_type=server_error': 1 });
  });

  it('excludes the wait for the stages below and the work of others', async () => {
    async function* slow() {
      for (const content of ['x', 'y', 'z']) {
        await wait(150);
        yield chunkOf({ content });
      }
    }
    const busy: Stage = {
      name: 'busy',
      onStream: () =>
        fromGenerator(async function* (chunks) {
          for await (const chunk of chunks) {
            work(40);
            yield chunk;
          }
        }),
    };
    const { passage, settle, seconds } = measured([
      { name: 'above', onStream: pass },
      busy,
      { name: 'below', onStream: pass },
    ]);
    for await (const _ of through(passage, slow())) await wait(40);
    settle();
    const own = await seconds();
    expect(own['stage=above,hook=onStream']).toBeLessThan(0.2);
    expect(own['stage=below,hook=onStream']).toBeLessThan(0.2);
    expect(own['stage=busy,hook=onStream']).toBeGreaterThan(0.11);
    expect(own['stage=busy,hook=onStream']).toBeLessThan(0.35);
  });

  it('excludes the wait of a stage that reads ahead', async () => {
    const ahead: Stage = {
      name: 'ahead',
      onStream: () =>
        fromGenerator(async function* (chunks) {
          const source = chunks[Symbol.asyncIterator]();
          let next = source.next();
          await wait(300);
          yield chunkOf({ content: 'meanwhile' });
          for (let result = await next; !result.done; result = await next) {
            next = source.next();
            yield result.value;
          }
        }),
    };
    async function* slow() {
      await wait(500);
      yield chunkOf({ content: 'x' });
    }
    const { passage, settle, seconds } = measured([ahead]);
    expect((await collected(through(passage, slow()))).chunks).toHaveLength(2);
    settle();
    expect((await seconds())['stage=ahead,hook=onStream']).toBeLessThan(0.2);
  });

  it('is observed for a stream whose reader left', async () => {
    const { passage, settle, counts } = measured([{ name: 'a', onStream: pass }]);
    for await (const _ of through(passage, streamOf([chunkOf({ content: 'x' })]))) break;
    settle();
    expect(await counts()).toEqual({ 'stage=a,hook=onStream': 1 });
  });
});

describe('a chain without metrics', () => {
  it('runs its stages', async () => {
    const passage = new Chain([{ name: 'a', onStream: pass, onRequest: () => {} }]).enter(
      sampleExchange({ request: {} }),
    );
    await passage.onRequest();
    const chunk = chunkOf({ content: 'x' });
    expect((await collected(through(passage, streamOf([chunk])))).chunks).toEqual([chunk]);
  });
});
