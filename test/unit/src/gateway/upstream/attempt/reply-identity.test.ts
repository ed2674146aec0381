import { expect, it } from '@jest/globals';
import type { StreamDecoder } from '../../../../../../src/gateway/exchange/canonical.ts';
import { ReplyIdentity } from '../../../../../../src/gateway/upstream/attempt/reply-identity.ts';

const named = (fields: object) => JSON.stringify(fields);

it.each<[string, string[], string | undefined, string | undefined]>([
  ['the first ones', [named({ id: '' }), named({ id: 'a', model: 'm' }), named({ id: 'b' })], 'a', 'm'],
  ['those of a message', [named({ id: 'x', message: { id: 'a' } }), named({ model: 'm' })], 'a', undefined],
  ['none behind eight events', [...Array(8).fill('[DONE]'), named({ id: 'a' })], undefined, undefined],
  ['those of the eighth event', [...Array(7).fill(': no'), named({ id: 'a' })], 'a', undefined],
  ['none of a long event', [named({ id: 'a', text: 'x'.repeat(65_536) })], undefined, undefined],
])('the id and the model of a stream are %s', (_, events, id, model) => {
  const identity = new ReplyIdentity();
  const inner = { decode: () => [], complete: false, done: false };
  const decoder = identity.ofStream(inner as unknown as StreamDecoder);
  for (const data of events) decoder.decode({ data } as never);
  expect(identity.attributes).toEqual({ 'gen_ai.response.id': id, 'gen_ai.response.model': model });
  expect([decoder.complete, decoder.done]).toEqual([false, false]);
  Object.assign(inner, { complete: true, done: true });
  expect([decoder.complete, decoder.done]).toEqual([true, true]);
});
