import { describe, expect, it } from '@jest/globals';
import { type Chunk, usageOf } from '../../../../../../src/gateway/exchange/canonical.ts';
import { failureOf } from '../../../../../../src/gateway/upstream/attempt/attempt-failure.ts';
import {
  chunkOf,
  decodeWhole,
  isEventStream,
} from '../../../../../../src/gateway/upstream/http/decode-reply.ts';
import type { DecodeLimits } from '../../../../../../src/gateway/upstream/http/stream-reader.ts';
import type { Body, BodyConsumer } from '../../../../../../src/gateway/upstream/http/upstream-call.ts';
import { decodeOpenAiReply } from '../../../../../../src/gateway/upstream/openai/openai-format.ts';
import { OpenAiStreamDecoder } from '../../../../../../src/gateway/upstream/openai/openai-stream-decoder.ts';
import { readStream } from '../../../../read-stream.ts';

const format = { decodeReply: decodeOpenAiReply };
const wide: DecodeLimits = { max_event_bytes: 10_000, max_reply_bytes: 100_000 };

/** A body of these parts, then its end. */
function bodyOf(parts: readonly Buffer[]): Body {
  return {
    readInto(consumer: BodyConsumer) {
      for (const part of parts) consumer.bytes(part);
      consumer.end();
    },
    resume() {},
    cancel() {},
    release() {},
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
  text: string,
  { type = 'text/event-stream', limits = wide }: { type?: string; limits?: DecodeLimits } = {},
) {
  const body = bodyOf([Buffer.from(text)]);
  const read = { chunks: [] as Chunk[], fault: undefined as unknown };
  try {
    if (isEventStream({ 'content-type': type }))
      Object.assign(read, readStream(new OpenAiStreamDecoder(), body, limits));
    else read.chunks.push(chunkOf(await decodeWhole(body, format, limits)));
  } catch (thrown) {
    read.fault = thrown;
  }
  return read;
}

const providerError = expect.objectContaining({ status: 502, type: 'provider_error' });

describe('a decoded stream', () => {
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
  const role = 'assistant';
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
          { index: 0, delta: { role, content: 'Yes.', reasoning: 'One.' }, finish_reason: 'stop' },
          {
            index: 1,
            delta: { role, content: null, tool_calls: [{ index: 0, ...call }] },
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
  it.each(['', '{', 'OK', '<html></html>'])('fails on %j', async text => {
    await expect(decodeWhole(bodyOf([Buffer.from(text)]), format, wide)).rejects.toEqual(providerError);
  });
});

const invalid = (has: string) =>
  expect.objectContaining({ code: 'provider_invalid', cause: new Error(`a reply with ${has}`) });
const many = <T>(count: number, one: (at: number) => T) => Array.from({ length: count }, (_, at) => one(at));
const calls = (count: number) =>
  many(count, at => ({ id: `c${at}`, function: { name: 'f', arguments: '{}' } }));
const listOf = (count: number) => many(count, () => ({ type: 'text', text: 'a' }));
const said = (message: object, index = 0) => ({ index, message, finish_reason: 'stop' });

describe('a reply of more than its bounds', () => {
  const wider = { ...wide, max_reply_bytes: 64_000_000, max_event_bytes: 1_048_576 };

  const [choices, tools] = ['more than 128 choices', 'more than 4096 tool calls'];
  const [parts, details] = ['more than 4096 parts', 'more than 4096 details of reasoning'];
  const inTwo = [said({ tool_calls: calls(4000) }), said({ tool_calls: calls(97) }, 1)];
  it.each<[string, object[], string]>([
    ['129 choices', many(129, at => said({ content: 'a' }, at)), choices],
    ['a choice with the index 128', [said({ content: 'a' }, 128)], choices],
    ['4,097 tool calls', [said({ tool_calls: calls(4097) })], tools],
    ['4,097 tool calls in two choices', inTwo, tools],
    ['4,097 parts of text', [said({ content: listOf(4097) })], parts],
    ['4,097 details of reasoning', [said({ content: 'a', reasoning_details: listOf(4097) })], details],
  ])('is invalid with %s', async (_, choices, has) => {
    const body = bodyOf([Buffer.from(JSON.stringify({ choices }))]);
    await expect(decodeWhole(body, format, wider)).rejects.toEqual(invalid(has));
  });

  it('is read up to its bounds', async () => {
    const choices = many(128, at => said({ content: 'a', tool_calls: calls(32) }, at));
    const body = bodyOf([Buffer.from(JSON.stringify({ choices }))]);
    expect((await decodeWhole(body, format, wider)).choices).toHaveLength(128);
  });

  const chunk = (index: number, delta: object) => event({ choices: [{ index, delta }] });
  it.each<[string, string[], string]>([
    ['129 choices one by one', many(129, at => chunk(at, { content: 'a' })), choices],
    ['129 choices in one event', [event({ choices: Array(129).fill({ index: 0, delta: {} }) })], choices],
    [
      '4,097 tool calls one by one',
      calls(4097).map((call, index) => step({ tool_calls: [{ index, ...call }] })),
      tools,
    ],
    ['4,097 tool calls in one event', [step({ tool_calls: calls(4097) })], tools],
    ['4,097 tool calls in 17 choices', many(17, at => chunk(at, { tool_calls: calls(241) })), tools],
    ['4,097 parts of text', [step({ content: listOf(4097) })], parts],
  ])('is invalid as a stream with %s', async (_, events, has) => {
    expect((await decoded(events.join(''), { limits: wider })).fault).toEqual(invalid(has));
  });

  const empty = `"choices":[${'{},'.repeat(5_000_000)}{}]`;
  it.each([
    ['5 million empty choices', `{${empty}}`],
    ['5 million empty choices beside a long text', `{"a":"${'x'.repeat(40_000_000)}",${empty}}`],
  ])('is rejected before it is parsed with %s', async (_, text) => {
    const reading = decodeWhole(bodyOf([Buffer.from(text)]), format, wider);
    await expect(reading).rejects.toMatchObject({ cause: new Error('a reply of too many values') });
  });

  it('is parsed with the log probabilities of twenty alternatives for each of 8,000 tokens', async () => {
    const one = { token: ' the', logprob: -1.25, bytes: [32, 116, 104, 101] };
    const content = Array(8000).fill({ ...one, top_logprobs: Array(20).fill(one) });
    const choices = [{ ...said({ content: 'a' }), logprobs: { content } }];
    const body = bodyOf([Buffer.from(JSON.stringify({ choices }))]);
    expect((await decodeWhole(body, format, wider)).choices[0]?.logprobs).toEqual({ content });
  });
});

describe('a value that is nested too deeply to be written again', () => {
  const deep = `${'['.repeat(20_000)}1${']'.repeat(20_000)}`;
  const withDeep = (value: object) => JSON.stringify(value).replaceAll('"deep"', deep);
  const wider = { ...wide, max_event_bytes: 1_000_000, max_reply_bytes: 1_000_000 };
  const call = { id: 'a', function: { name: 'f', arguments: 'deep' } };
  const tooDeep = invalid('values nested more than 1000 levels deep');

  it.each<[string, object]>([
    ['log probabilities', { ...said({ content: 'a' }), logprobs: { content: 'deep' } }],
    ['arguments of a call', said({ tool_calls: [call] })],
  ])('makes a reply invalid in %s', async (_, choice) => {
    const whole = withDeep({ choices: [choice] });
    await expect(decodeWhole(bodyOf([Buffer.from(whole)]), format, wider)).rejects.toEqual(tooDeep);
    const { message, ...rest } = choice as ReturnType<typeof said>;
    const streamed = withDeep({ choices: [{ ...rest, delta: message }] });
    expect((await decoded(`data: ${streamed}\n\n`, { limits: wider })).fault).toEqual(tooDeep);
  });

  it.each<[string, object, object]>([
    ['a member that is not kept', said({ content: 'a', extra: 'deep' }), { content: 'a' }],
    ['parts of thinking', said({ content: [{ type: 'thinking', thinking: 'deep' }] }), { content: '' }],
    ['the name of a tool', said({ tool_calls: [{ ...call, function: { name: 'deep' } }] }), {}],
  ])('is left out in %s', async (_, choice, expected) => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, more: 'deep' };
    const whole = withDeep({ choices: [choice], usage });
    const { choices } = await decodeWhole(bodyOf([Buffer.from(whole)]), format, wider);
    expect(choices[0]?.message).toMatchObject(expected);
    expect(JSON.stringify(choices).length).toBeLessThan(500);
  });
});
