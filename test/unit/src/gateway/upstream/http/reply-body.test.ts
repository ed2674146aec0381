import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { decompressed } from '../../../../../../src/gateway/upstream/http/reply-body.ts';
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
