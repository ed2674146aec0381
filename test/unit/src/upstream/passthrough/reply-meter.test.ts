import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { ReplyMeter } from '../../../../../src/upstream/passthrough/reply-meter.ts';

const replyOf = (headers: object, bytes: Buffer): IncomingMessage => {
  const reply = Object.assign(new PassThrough(), {
    headers: { 'content-type': 'application/json', ...headers },
  });
  reply.end(bytes);
  return reply as unknown as IncomingMessage;
};

const text = JSON.stringify({ data: Array(1000).fill(0.25), usage: { total_tokens: 5 } });
const gzip = { 'content-encoding': 'gzip' };

describe('the meter of a reply', () => {
  it.each<[string, object, Buffer]>([
    ['plain', {}, Buffer.from(text)],
    ['compressed', gzip, gzipSync(text)],
  ])('reads no more than its bound of a %s reply', async (_, headers, bytes) => {
    for (const [max_bytes, usage] of [
      [text.length, expect.anything()],
      [text.length - 1, undefined],
    ] as const) {
      const meter = ReplyMeter.of(replyOf(headers, bytes), max_bytes)!;
      await meter.done;
      expect(meter.usage).toEqual(usage);
    }
  });

  it.each([Buffer.from('no gzip'), gzipSync(text).subarray(0, 40)])(
    'ends when a reply cannot be decompressed',
    async bytes => {
      const meter = ReplyMeter.of(replyOf(gzip, bytes))!;
      await meter.done;
      expect(meter.usage).toBeUndefined();
    },
  );

  it.each<[string, object, (bytes: Buffer) => Buffer]>([
    ['plain', {}, bytes => bytes],
    ['compressed', gzip, gzipSync],
  ])('reads the last event of a %s stream without a blank line at its end', async (_, encoding, encoded) => {
    const events = Buffer.from(
      'data: {"choices":[]}\n\ndata: {"usage":{"prompt_tokens":4,"total_tokens":6}}',
    );
    const headers = { 'content-type': 'text/event-stream', ...encoding };
    const meter = ReplyMeter.of(replyOf(headers, encoded(events)))!;
    await meter.done;
    expect(meter.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 2 });
  });

  it.each([{ 'content-type': 'audio/mpeg' }, { 'content-type': undefined }, { 'content-encoding': 'zstd' }])(
    'is not made for %j',
    headers => {
      expect(ReplyMeter.of(replyOf(headers, Buffer.from(text)))).toBeUndefined();
    },
  );
});
