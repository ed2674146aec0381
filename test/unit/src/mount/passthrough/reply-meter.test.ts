import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { ReplyMeter } from '../../../../../src/mount/passthrough/reply-meter.ts';

const replyOf = (headers: object, bytes: Buffer, highWaterMark = 65_536): IncomingMessage => {
  const reply = Object.assign(new PassThrough({ highWaterMark }), {
    headers: { 'content-type': 'application/json', ...headers },
  });
  for (let at = 0; at < bytes.length; at += 65_536) reply.write(bytes.subarray(at, at + 65_536));
  reply.end();
  return reply as unknown as IncomingMessage;
};

const generating = { generates: true };
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
      const meter = new ReplyMeter(replyOf(headers, bytes), { generates: false, max_bytes });
      await meter.done;
      expect(meter.usage).toEqual(usage);
    }
  });

  it.each([Buffer.from('no gzip'), gzipSync(text).subarray(0, 40)])(
    'ends when a reply cannot be decompressed',
    async bytes => {
      const meter = new ReplyMeter(replyOf(gzip, bytes), generating);
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
    const meter = new ReplyMeter(replyOf(headers, encoded(events)), generating);
    await meter.done;
    expect(meter.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 2 });
  });

  const told = { usage: { prompt_tokens: 4, total_tokens: 6 } };
  const line = (value: object) => `${JSON.stringify(value)}\n`;
  const ollama = line({ response: 'Yes' }) + line({ response: '', prompt_eval_count: 4, eval_count: 2 });

  it.each<[string, string | undefined, string | Buffer, string]>([
    ['JSON without a type', undefined, line(told), ''],
    ['JSON as text, behind a mark and spaces', 'text/plain', `\uFEFF\r\n ${line(told)}`, ''],
    ['JSON with something behind it', 'application/json', `${line(told)}{"usage":null}`, ''],
    ['JSON called a stream', 'text/event-stream', line(told), ''],
    ['events called JSON', 'application/json', `data: ${line(told)}\n`, ''],
    [
      'events with CR LF',
      'text/event-stream',
      `data: ${JSON.stringify(told)}\r\n\r\ndata: [DONE]\r\n\r\n`,
      '',
    ],
    ['lines of JSON', 'application/x-ndjson', ollama, ''],
    ['lines without a last line feed', 'application/x-ndjson', ollama.trim(), ''],
    ['deflate as zlib writes it', 'application/json', deflateSync(line(told)), 'deflate'],
    ['deflate without a header', 'application/json', deflateRawSync(line(told)), 'deflate'],
  ])('reads %s', async (_, type, bytes, encoding) => {
    const headers = { 'content-type': type, ...(encoding !== '' && { 'content-encoding': encoding }) };
    const meter = new ReplyMeter(replyOf(headers, Buffer.from(bytes)), generating);
    await meter.done;
    expect(meter.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 2 });
    expect(meter.text_tokens).toBe(0);
  });

  const words = 'The river bends because its outer bank is worn away.';
  const events = (...given: object[]) => given.map(event => `data: ${JSON.stringify(event)}\n\n`).join('');
  const delta = (text: string, index = 0) => ({ choices: [{ index, delta: { content: text } }] });

  it.each<[string, string, string, number]>([
    ['a stream', 'text/event-stream', events(delta(words), delta(''), { choices: [] }), 11],
    [
      'choices whose words do not join',
      'text/event-stream',
      events(delta('word'), delta('word', 1), delta('word'), delta('word', 1)),
      2,
    ],
    [
      'what came after the last usage',
      'text/event-stream',
      events(
        { message: { usage: { input_tokens: 4, output_tokens: 1 } } },
        { type: 'content_block_delta', delta: { text: words } },
      ),
      11,
    ],
    ['events of an unknown format', 'text/event-stream', events({ a: 'b' }, { a: 'c' }), 2],
    ['whole JSON', 'application/json', line({ choices: [{ text: words }] }), 11],
    ['plain text', 'text/plain', words, 11],
    [
      'whole JSON whose usage is of the prompt alone',
      'application/json',
      line({ choices: [{ text: words }], usage: { prompt_tokens: 9, completion_tokens: 0 } }),
      11,
    ],
    [
      'unknown JSON with the usage of a prompt',
      'application/json',
      line({ vectors: words, usage: { prompt_tokens: 9, total_tokens: 9 } }),
      0,
    ],
    ['JSON that is cut', 'application/json', `{"choices":[{"text":"${words}`, 12],
    ['lists of numbers', 'application/json', JSON.stringify([Array(50).fill(-0.25)]), 0],
    ['sound', 'audio/mpeg', words, 0],
  ])('counts the generated text of %s', async (_, type, text, tokens) => {
    const reply = () => replyOf({ 'content-type': type }, Buffer.from(text));
    const meter = new ReplyMeter(reply(), generating);
    await meter.done;
    expect(meter.text_tokens).toBe(tokens);
    const reading = new ReplyMeter(reply(), { generates: false });
    await reading.done;
    expect(reading.text_tokens).toBe(0);
  });

  it.each(['zstd', 'gzip, br', 'gzip'])(
    'estimates text in the encoding %s, which it cannot read',
    async name => {
      const headers = { 'content-type': 'text/plain', 'content-encoding': name };
      const meter = new ReplyMeter(replyOf(headers, Buffer.from(words)), generating);
      await meter.done;
      expect(meter.usage).toBeUndefined();
      expect(meter.text_tokens).toBe(words.length / 2);
    },
  );

  it('reads a compressed reply that breaks off as far as it came', async () => {
    const reply = Object.assign(new PassThrough(), {
      headers: { 'content-type': 'text/event-stream', ...gzip },
    });
    const meter = new ReplyMeter(reply as unknown as IncomingMessage, generating);
    reply.write(gzipSync(events(delta(words))).subarray(0, -8));
    await new Promise(setImmediate);
    reply.destroy();
    await meter.done;
    expect(meter.text_tokens).toBe(11);
  });

  it('reads a compressed reply that comes faster than it can be read, which waits', async () => {
    const bytes = brotliCompressSync(
      JSON.stringify({ data: randomBytes(12e6).toString('base64'), ...told }),
      {
        params: { [constants.BROTLI_PARAM_QUALITY]: 0 },
      },
    );
    const reply = replyOf({ 'content-encoding': 'br' }, bytes, 16 * 1024 * 1024);
    const meter = new ReplyMeter(reply, generating);
    await meter.done;
    expect(meter.usage).toMatchObject({ prompt_tokens: 4 });
  });
});
