import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { outputOf } from '../../../../../../plugins/dialects/responses/output-items.ts';
import { replyFormOf } from '../../../../../../plugins/dialects/responses/reply-form.ts';
import { parseResponsesRequest } from '../../../../../../plugins/dialects/responses/responses-request.ts';
import {
  ContinuedRequests,
  type Turn,
} from '../../../../../../plugins/dialects/responses/store/continued-requests.ts';
import { ResponseArchive } from '../../../../../../plugins/dialects/responses/store/response-archive.ts';
import { storeSchema } from '../../../../../../plugins/dialects/responses/store/store-options.ts';
import { memoryPlace } from '../../../../../../plugins/stores/records/index.ts';
import { randomId } from '../../../../../../src/common/ids.ts';
import type { Json } from '../../../../../../src/plugin.ts';
import type { RecordsStore } from '../../../../../../src/records/records-store.ts';
import { createLog } from '../../../../../../src/telemetry/log.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { identity } from '../../../../src/gateway/dialects/renderings.ts';

const clock = new FakeClock();
let store: RecordsStore;
beforeAll(async () => {
  store = await memoryPlace.open();
  await store.migrate(0);
});
afterAll(() => store.close());

const opened = (more: object = {}) => {
  const options = storeSchema.parse({ ttl_days: 1, keys: ['k'.repeat(32)], ...more })!;
  const gateway = { clock, log: createLog('silent'), responses: store.responses };
  return new ContinuedRequests(new ResponseArchive(options, gateway));
};

/** Sends a request that continues `previous`, answered with these texts: the id of its response, and the items that the model saw. */
async function turn(
  requests: ContinuedRequests,
  previous: string | undefined,
  input: unknown,
  output: Json[],
) {
  const body = { input, previous_response_id: previous };
  const completed = (await requests.complete(body, 'acme')) ?? body;
  const made = requests.turnOf(completed)!;
  const key = randomId();
  const response = JSON.stringify({ output });
  await requests.keep(
    made,
    { ...identity(), key, created: clock.epoch_ms() / 1000 },
    response,
    output.length,
  );
  return {
    id: `resp_${key}`,
    key,
    made,
    completed,
    seen: [...made.replayed, ...(completed.input as Json[])],
  };
}

const textsOf = (items: readonly Json[]) => items.map(({ text }) => text);

describe('requests that continue stored responses', () => {
  it('see the items of all turns before, in their order, whichever response they continue', async () => {
    const turns = fc.array(
      fc.record({ inputs: fc.integer({ min: 1, max: 3 }), outputs: fc.nat(3), from: fc.nat(20) }),
      { minLength: 1, maxLength: 12 },
    );
    const requests = opened();
    await fc.assert(
      fc.asyncProperty(turns, async all => {
        const made: { readonly id: string; readonly items: readonly unknown[] }[] = [];
        for (const [at, { inputs, outputs, from }] of all.entries()) {
          const before = made[from % (at + 1)];
          const named = (kind: string, count: number) =>
            Array.from({ length: count }, (_, place) => ({
              type: 'message',
              content: '',
              text: `${kind}${at}.${place}`,
            }));
          const [input, output] = [named('in', inputs), named('out', outputs)];
          const { id, seen } = await turn(requests, before?.id, input, output);
          const expected = [...(before?.items ?? []), ...textsOf(input)];
          expect(textsOf(seen)).toEqual(expected);
          made.push({ id, items: [...expected, ...textsOf(output)] });
        }
      }),
      { numRuns: 40 },
    );
  });

  it('store items that stand for others as they are, and see the others', async () => {
    const requests = opened();
    const first = await turn(requests, undefined, 'Hello', []);
    const id = `msg_${first.key}_in1`;
    const reference = { type: 'item_reference', id };
    const second = await turn(requests, undefined, [reference, { id }], []);
    const hello = { id, type: 'message', role: 'user', content: 'Hello' };
    expect([second.seen, second.made.input]).toEqual([
      [hello, hello],
      [reference, { id }],
    ]);
    const third = await turn(requests, second.id, 'More', []);
    expect(third.made.replayed).toEqual([hello, hello]);
    const other = requests.complete({ input: [reference] }, 'beta');
    await expect(other).rejects.toMatchObject({ status: 400, param: 'input[0].id' });
  });

  it('are refused above the length of a chain, and behind its end', async () => {
    const short = opened({ max_chain_items: 3 });
    const first = await turn(short, undefined, 'one', [{ type: 'message' }]);
    const second = await turn(short, first.id, 'two', []);
    await expect(
      short.complete({ input: 'three', previous_response_id: second.id }, 'acme'),
    ).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
    });
    await store.responses!.delete('acme', first.id);
    const again = opened().complete({ input: 'three', previous_response_id: second.id }, 'acme');
    await expect(again).rejects.toMatchObject({
      code: 'previous_response_not_found',
      message: expect.stringContaining(first.id),
    });
  });

  it('have replies that keep what a provider has signed, also unasked, and nothing else', () => {
    const request = (turn: object | undefined) =>
      parseResponsesRequest({ model: 'a/b', input: 'a' }, 'item', () => undefined, turn as Turn | undefined);
    const turn = { account: 'acme', parent: undefined, conversation: undefined, replayed: [], input: [] };
    const signed = [{ type: 'reasoning.text', signature: 'abc' }];
    const shown = (made: object | undefined, reasoning_details: typeof signed) => {
      const message = { role: 'assistant' as const, content: 'x', reasoning: 'Hm.', reasoning_details };
      const choice = { message, finish_reason: 'stop' as const, logprobs: null };
      const form = replyFormOf(request(made), { reasoning_placement: 'item' });
      const [item] = outputOf(identity(), choice, form);
      return item && 'encrypted_content' in item;
    };
    expect([
      shown({ ...turn, isStored: true }, signed),
      shown({ ...turn, isStored: true }, []),
      shown({ ...turn, isStored: false }, signed),
      shown(undefined, signed),
    ]).toEqual([true, false, false, false]);
  });

  it('need a records store that keeps responses', () => {
    const options = storeSchema.parse({ ttl_days: 1, keys: ['k'.repeat(32)] })!;
    const gateway = { clock, log: createLog('silent'), responses: undefined };
    expect(() => new ResponseArchive(options, gateway)).toThrow('keeps no responses');
  });

  it('are not stored where the client, the account or their size forbids it', async () => {
    const requests = opened({ per_account: { beta: 0 }, max_response_bytes: 100 });
    const stored = (body: Json, account: string | undefined) => {
      requests.complete(body, account);
      return requests.turnOf(body)?.isStored;
    };
    expect(stored({ input: 'a' }, 'acme')).toBe(true);
    expect(stored({ input: 'a', store: null }, 'acme')).toBe(true);
    expect(stored({ input: 'a', store: false }, 'acme')).toBeUndefined();
    expect(stored({ input: 'a' }, 'beta')).toBeUndefined();
    expect(stored({ input: 'a' }, undefined)).toBeUndefined();
    const large = await turn(requests, undefined, 'é'.repeat(50), []);
    expect(large.made.isStored).toBe(false);
  });
});
