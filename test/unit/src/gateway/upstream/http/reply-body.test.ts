import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { decompressed, textOf } from '../../../../../../src/gateway/upstream/http/reply-body.ts';
import type { Body, BodyConsumer } from '../../../../../../src/gateway/upstream/http/upstream-call.ts';

const gzip = { headers: { 'content-encoding': 'gzip' } };

/** A body that never ends; `cancelled` resolves when it is given up. */
function endlessBody(beginning: Buffer) {
  const { promise: cancelled, resolve } = Promise.withResolvers<Error>();
  const body: Body = {
    readInto: (consumer: BodyConsumer) => void consumer.bytes(beginning),
    resume() {},
    cancel: resolve,
    release() {},
  };
  return { body, cancelled };
}

it('cancels the call behind a decompressed body that is not read on', async () => {
  const { body, cancelled } = endlessBody(gzipSync('words').subarray(0, 8));
  decompressed(body, gzip).cancel(new Error('enough'));
  expect((await cancelled).message).toBe('the reply is not read on');
});

it('cancels the call behind a body that cannot be decompressed', async () => {
  const { body, cancelled } = endlessBody(Buffer.from('no gzip at all'));
  const failed = Promise.withResolvers<Error>();
  decompressed(body, gzip).readInto({ bytes: () => true, end() {}, fail: failed.resolve });
  await failed.promise;
  expect((await cancelled).message).toBe('the reply is not read on');
});

it('reads on a body that came faster than it could be decompressed', async () => {
  const text = randomBytes(200_000).toString('hex');
  const whole = gzipSync(text);
  const parts = Array.from({ length: 8 }, (_, at) =>
    whole.subarray((at * whole.length) / 8, ((at + 1) * whole.length) / 8),
  );
  let consumer: BodyConsumer;
  let pauses = 0;
  const send = (): void => {
    for (let part = parts.shift(); part; part = parts.shift())
      if (!consumer.bytes(part)) return void pauses++;
    consumer.end();
  };
  const body: Body = {
    readInto(given) {
      consumer = given;
      send();
    },
    resume: send,
    cancel() {},
    release() {},
  };
  expect(await textOf(decompressed(body, gzip), 1_000_000)).toBe(text);
  expect(pauses).toBeGreaterThan(0);
}, 10_000);
