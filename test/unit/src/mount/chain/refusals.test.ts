import { describe, expect, it } from '@jest/globals';
import { refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { fromGenerator } from '../../../../../src/gateway/exchange/from-generator.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import { chunkOf, collected, streamOf, through } from '../../../chunk-stream.ts';
import { measured, pass, reply } from './measured-chain.ts';

const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms));
describe('the refusal counter', () => {
  const refusing = (): never => {
    throw refusal('rate_limited');
  };

  it.each<[string, Stage, 'onHeaders' | 'onRequest' | 'onReply']>([
    ['a synchronous refusal', { name: 'b', onHeaders: refusing }, 'onHeaders'],
    ['an asynchronous refusal', { name: 'b', onRequest: async () => wait(1).then(refusing) }, 'onRequest'],
    ['a refusal of a reply', { name: 'b', onReply: refusing }, 'onReply'],
  ])('counts %s once, with its stage and hook', async (_, stage, hook) => {
    const { passage, settle, refusals } = measured([
      { name: 'a', onHeaders: () => {} },
      stage,
      { name: 'c' },
    ]);
    const run = async () => (hook === 'onReply' ? passage.onReply(reply) : passage[hook]());
    const thrown = await run().catch((error: unknown) => error);
    passage.onError(thrown);
    settle();
    expect(await refusals()).toEqual({ [`stage=b,hook=${hook},error_type=rate_limit_error`]: 1 });
  });

  it.each(['onError', 'onSettled'] as const)('counts a refusal in %s', async hook => {
    const { passage, settle, refusals } = measured([{ name: 'b', [hook]: refusing }]);
    passage.onError(new Error('bug'));
    settle();
    expect(await refusals()).toEqual({ [`stage=b,hook=${hook},error_type=rate_limit_error`]: 1 });
  });

  it('counts a refusal in a stream at the stage that threw, not at those above', async () => {
    const stage: Stage = {
      name: 'b',
      onStream: () =>
        fromGenerator(async function* (chunks) {
          for await (const chunk of chunks) {
            yield chunk;
            throw new TypeError('bug');
          }
        }),
    };
    const above = { onStream: pass };
    const { passage, refusals } = measured([{ name: 'a', ...above }, stage, { name: 'c', ...above }]);
    await collected(through(passage, streamOf([chunkOf({ content: 'x' })])));
    expect(await refusals()).toEqual({ 'stage=b,hook=onStream,error_type=server_error': 1 });
  });

  it('counts a stage that throws before its stream has begun', async () => {
    const { passage, refusals } = measured([
      { name: 'a', onStream: pass },
      { name: 'b', onStream: refusing },
    ]);
    expect(() => through(passage, streamOf([]))).toThrow('Rate limit exceeded.');
    expect(await refusals()).toEqual({ 'stage=b,hook=onStream,error_type=rate_limit_error': 1 });
  });

  it('excludes a failure of the upstream, unless a stage replaces it', async () => {
    const upstream = streamOf([], refusal('provider_broke_off'));
    const { passage, refusals } = measured([
      { name: 'a', onStream: pass },
      { name: 'b', onStream: pass },
    ]);
    await collected(through(passage, upstream));
    expect(await refusals()).toEqual({});

    const turning: Stage = {
      name: 'turning',
      onStream: () => ({
        transform: (chunk, controller) => controller.enqueue(chunk),
        flush() {
          throw refusal('server_error');
        },
      }),
    };
    const other = measured([{ name: 'a', onStream: pass }, turning]);
    await collected(through(other.passage, streamOf([], refusal('provider_broke_off'))));
    expect(await other.refusals()).toEqual({ 'stage=turning,hook=onStream,error_type=server_error': 1 });
  });
});
