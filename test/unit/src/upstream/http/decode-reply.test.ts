import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';

import { type Chunk, usageOf } from '../../../../../src/canonical.ts';
import { failureOf } from '../../../../../src/upstream/attempt/attempt-failure.ts';
import {
  decodeWhole,
  isEventStream,
  chunkOf as wholeAsChunk,
} from '../../../../../src/upstream/http/decode-reply.ts';
import type { DecodeLimits } from '../../../../../src/upstream/http/stream-reader.ts';
import type { Body, BodyConsumer } from '../../../../../src/upstream/http/upstream-call.ts';
import { decodeOpenAiReply } from '../../../../../src/upstream/openai/openai-format.ts';
import { OpenAiStreamDecoder } from '../../../../../src/upstream/openai/openai-stream-decoder.ts';
import { assembled, chunkOf } from '../../../chunk-stream.ts';
import { readStream } from '../../../read-stream.ts';

const format = { decodeReply: decodeOpenAiReply };
const wide: DecodeLimits = { max_event_bytes: 10_000, max_reply_bytes: 100_000 };

/** A body of these parts, then its end or `fault`. */
function bodyOf(parts: readonly Buffer[], fault?: Error): Body & { released: number } {
  return {
    released: 0,
    readInto(consumer: BodyConsumer) {
      for (const part of parts) consumer.bytes(part);
      if (fault) consumer.fail(fault);
      else consumer.end();
    },
    resume() {},
    cancel() {},
    release() {
      this.released++;
    },
  };
}

const event = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const step = (delta: object, finish_reason: string | null = null) =>
  event({ choices: [{ index: 0, delta, finish_reason }] });
const usage = event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
const done = 'data: [DONE]\n\n';
const whole =
  step({ role: 'assistant', content: '' }) +
  step({ content: 'Да 你好 🎲' }) +
  step({}, 'stop') +
  usage +
  done;

async function decoded(
  text: string | readonly Buffer[],
  {
    type = 'text/event-stream',
    limits = wide,
    fault,
  }: { type?: string; limits?: DecodeLimits; fault?: Error } = {},
) {
  const parts = typeof text === 'string' ? [Buffer.from(text)] : text;
  const body = bodyOf(parts, fault);
  const read = { chunks: [] as Chunk[], fault: undefined as unknown };
  try {
    if (isEventStream({ 'content-type': type }))
      Object.assign(read, readStream(new OpenAiStreamDecoder(), body, limits));
    else read.chunks.push(wholeAsChunk(await decodeWhole(body, format, limits)));
  } catch (thrown) {
    read.fault = thrown;
  }
  return { ...read, ended: body.released };
}

const providerError = expect.objectContaining({ status: 502, type: 'provider_error' });

describe('a decoded stream', () => {
  it('is the same however its bytes are cut, even within characters', async () => {
    const bytes = Buffer.from(whole);
    const expected = await decoded(whole);
    expect(expected).toMatchObject({ fault: undefined, ended: 1 });
    expect(assembled(expected.chunks).content).toBe('Да 你好 🎲');
    expect(expected.chunks.at(-1)).toEqual({ choices: [], usage: usageOf(3, 2) });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 10 }), async places => {
        const at = [0, ...places.sort((a, b) => a - b), bytes.length];
        const parts = at.slice(1).map((to, before) => bytes.subarray(at[before], to));
        expect(await decoded(parts)).toEqual(expected);
      }),
    );
  });

  it('ends at [DONE] and ignores what follows', async () => {
    const { chunks, fault, ended } = await decoded(
      `${step({ content: 'a' }, 'stop')}data:  [DONE] \n\nnonsense\n\ndata: {\n\n`,
    );
    expect({ chunks, fault, ended }).toEqual({
      chunks: [chunkOf({ content: 'a' }, 'stop')],
      fault: undefined,
      ended: 1,
    });
  });

  it('fails when it is cut anywhere before its last finish reason', async () => {
    const finished = whole.indexOf('"stop"') + '"stop"}]}'.length;
    const bytes = Buffer.from(whole);
    const textEnd = Buffer.byteLength(whole.slice(0, finished));
    for (const fault of [undefined, Object.assign(new Error('reset'), { code: 'ECONNRESET' })]) {
      for (let length = 0; length < bytes.length; length++) {
        const cut = await decoded([bytes.subarray(0, length)], fault && { fault });
        const complete = fault ? length >= textEnd + 2 : length >= textEnd;
        if (complete) expect({ length, fault: cut.fault }).toEqual({ length, fault: undefined });
        else expect({ length, fault: cut.fault }).toEqual({ length, fault: fault ?? providerError });
        expect('Да 你好 🎲').toContain(assembled(cut.chunks).content);
      }
    }
  });

  it('may lack the last blank line and [DONE]', async () => {
    const { chunks, fault } = await decoded(step({ content: 'a' }, 'stop') + usage.trimEnd());
    expect(fault).toBeUndefined();
    expect(chunks.at(-1)!.usage).toEqual(usageOf(3, 2));
  });

  it.each<[string, string]>([
    ['an empty body', ''],
    ['[DONE] alone', done],
    ['an end without finish_reason', step({ content: 'a' }) + done],
    ['bad JSON in the middle', `${step({ content: 'a' })}data: {"choices\n\n${step({}, 'stop')}`],
    [
      'an error event after the last finish reason',
      `${step({}, 'stop')}${event({ error: { message: 'x' } })}`,
    ],
    ['an SSE error field', `${step({ content: 'a' })}error: {"message":"x"}\n\n`],
  ])('fails on %s', async (_, text) => {
    expect(failureOf((await decoded(text)).fault, true).error).toEqual(providerError);
  });

  it('fails on a lost connection only before its finish reason', async () => {
    const fault = new Error('other side closed');
    expect((await decoded(step({ content: 'a' }), { fault })).fault).toBe(fault);
    expect((await decoded(step({ content: 'a' }, 'stop'), { fault })).fault).toBeUndefined();
  });
});

describe('the size limit of a stream', () => {
  it.each([
    ['an event', { max_event_bytes: 50, max_reply_bytes: 100_000 }],
    ['a reply', { max_event_bytes: 10_000, max_reply_bytes: 120 }],
  ])('applies to %s', async (_, limits) => {
    expect((await decoded(step({ content: 'x'.repeat(60) }, 'stop'), { limits })).fault).toEqual(
      expect.objectContaining({ code: 'provider_invalid' }),
    );
  });
});

describe('a streamed request with another answer', () => {
  const call = { id: 'a', type: 'function', function: { name: 'roll', arguments: '{}' } };
  const reply = {
    choices: [
      { index: 0, message: { content: 'Yes.', reasoning: 'One.' }, finish_reason: 'stop' },
      { index: 1, message: { content: null, tool_calls: [call] }, finish_reason: 'tool_calls' },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  };

  it.each(['application/json', 'Application/JSON; charset=utf-8'])('yields %s as one chunk', async type => {
    const { chunks, fault } = await decoded(JSON.stringify(reply), { type });
    expect(fault).toBeUndefined();
    expect(chunks).toEqual([
      {
        choices: [
          {
            index: 0,
            delta: { role: 'assistant', content: 'Yes.', reasoning: 'One.' },
            finish_reason: 'stop',
          },
          {
            index: 1,
            delta: {
              role: 'assistant',
              content: null,
              tool_calls: [
                { index: 0, id: 'a', type: 'function', function: { name: 'roll', arguments: '{}' } },
              ],
            },
            finish_reason: 'tool_calls',
          },
        ],
        usage: usageOf(3, 2),
      },
    ]);
  });

  it.each([
    ['application/json', '{"error":{"message":"Overloaded"}}'],
    ['application/json', '{"choices":'],
    ['text/html; charset=utf-8', '<html></html>'],
  ])('fails on %s %s', async (type, text) => {
    expect(failureOf((await decoded(text, { type })).fault, true).error).toEqual(providerError);
  });

  it('treats a missing content type as a stream', async () => {
    expect((await decoded(whole, { type: '' })).fault).toBeUndefined();
  });
});

describe('a whole reply', () => {
  const reading = (text: string, limits = wide) =>
    decodeWhole(bodyOf([...Buffer.from(text)].map(byte => Buffer.from([byte]))), format, limits);
  const reply = JSON.stringify({ choices: [{ message: { content: 'Да 🎲' }, finish_reason: 'stop' }] });

  it('is assembled from its bytes', async () => {
    expect((await reading(reply)).choices[0]!.message.content).toBe('Да 🎲');
  });

  it.each(['', '{', 'OK', '<html></html>'])('fails on %j', async text => {
    await expect(reading(text)).rejects.toEqual(providerError);
  });

  it('fails above the size limit', async () => {
    await expect(reading(reply, { ...wide, max_reply_bytes: 20 })).rejects.toEqual(providerError);
  });
});

describe('a whole reply with more values than memory allows', () => {
  it('is rejected before it is parsed', async () => {
    const text = `{"choices":[${'{},'.repeat(6_000_000)}{}]}`;
    const limits = { ...wide, max_reply_bytes: text.length };
    const reading = decodeWhole(bodyOf([Buffer.from(text)]), format, limits);
    await expect(reading).rejects.toMatchObject({
      code: 'provider_invalid',
      cause: new Error('a reply of too many values'),
    });
  });
});
