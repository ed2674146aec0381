import type { ClientRequest, IncomingMessage } from 'node:http';
import { PassThrough, Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { limitUpload } from '../../../../../src/mount/passthrough/upload-limits.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

it('does not count against a client the time in which the upstream reads nothing', async () => {
  const taken: (() => void)[] = [];
  const outgoing = new Writable({
    highWaterMark: 1,
    write: (_part, _encoding, done) => void taken.push(done),
  });
  const request = Object.assign(new PassThrough(), { complete: false });
  const clock = new FakeClock();
  const refused: string[] = [];
  const limits = {
    max_body_bytes: 100,
    body_idle_ms: 60_000,
    body_timeout_ms: 10_000,
    min_body_bytes_per_second: 1,
  };
  limitUpload(
    request as unknown as IncomingMessage,
    outgoing as unknown as ClientRequest,
    clock,
    limits,
    ({ message }) => void refused.push(message),
  );
  request.pipe(outgoing);
  for (const [waited_ms, part] of [
    [0, 'a'],
    [60_000, 'b'],
    [60_000, 'c'],
  ] as const) {
    clock.advance(waited_ms);
    taken.pop()?.();
    request.write(part);
    await new Promise(setImmediate);
  }
  expect(refused).toEqual([]);
  taken.pop()?.();
  await new Promise(setImmediate);
  // Now it is the client that waits.
  clock.advance(60_000);
  request.write('d');
  await new Promise(setImmediate);
  expect(refused).toHaveLength(1);
  outgoing.destroy();
});
