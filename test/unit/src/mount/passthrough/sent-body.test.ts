import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { SentBody, withoutFirst } from '../../../../../src/mount/passthrough/sent-body.ts';

const request = () => new PassThrough() as unknown as PassThrough & IncomingMessage;
const turn = () => new Promise(setImmediate);

it.each([true, false])(
  'sends what was read once more, then the rest; at the end of the body already: %p',
  async isEnded => {
    const body = request();
    const sent = new SentBody(body);
    body.write('one');
    body.write('two');
    if (isEnded) body.end();
    await turn();
    body.pause();
    expect([sent.isWhole, sent.putBack()]).toEqual([true, 6]);
    let again = '';
    body.on('data', part => {
      again += part;
    });
    body.resume();
    if (!isEnded) body.end('three');
    await turn();
    await turn();
    expect(again).toBe(isEnded ? 'onetwo' : 'onetwothree');
  },
);

it.each([
  [65_536, true],
  [65_537, false],
])('keeps %d bytes whole: %p', async (bytes, isWhole) => {
  const body = request();
  const sent = new SentBody(body);
  for (const part of ['x', 'x'.repeat(bytes - 1)]) body.write(part);
  await turn();
  expect([sent.isWhole, sent.putBack()]).toEqual([isWhole, isWhole ? bytes : 0]);
});

it('passes on only what was not passed on before', () => {
  let seen = '';
  const take = withoutFirst(4, part => {
    expect(part.length).toBeGreaterThan(0);
    seen += part;
  });
  for (const part of ['abc', 'd', 'ef', 'g']) take(Buffer.from(part));
  expect(seen).toBe('efg');
});
