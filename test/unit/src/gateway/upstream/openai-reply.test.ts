import { describe, expect, it } from '@jest/globals';
import { type Usage, usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { finishLabel } from '../../../../../src/gateway/upstream/openai/finish-reason.ts';
import { decodeOpenAiReply, indexIn } from '../../../../../src/gateway/upstream/openai/openai-format.ts';
import { readUsage } from '../../../../../src/gateway/upstream/openai/openai-usage.ts';

/** A whole reply with one choice, as a server sends it. */
const replyOf = (choice: object, rest: object = {}) => ({
  id: 'cmpl-1',
  object: 'chat.completion',
  model: 'inner-name',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop', ...choice }],
  ...rest,
});
const messageOf = (message: object) => decodeOpenAiReply(replyOf({ message })).choices[0]!.message;

describe('the usage of a reply', () => {
  const both = { prompt_tokens: 12, completion_tokens: 9 };
  const reasoned = { reasoning_tokens: 2, audio_tokens: 0 };
  it.each<[unknown, Usage | undefined]>([
    [{ ...both, total_tokens: 21 }, usageOf(12, 9)],
    [{ ...both, total_tokens: 21, prompt_tokens_details: { cached_tokens: 4 } }, usageOf(12, 9, 4)],
    [{ ...both, prompt_tokens_details: null }, usageOf(12, 9)],
    [{ ...both, total_tokens: 99 }, usageOf(12, 87)],
    [{ prompt_tokens: 12.7, completion_tokens: 3.2 }, usageOf(12, 3)],
    // Half a figure is none: it would be billed as if it were exact.
    [{ prompt_tokens: 12 }, undefined],
    [{ prompt_tokens: 12, completion_tokens: null }, undefined],
    [{ prompt_tokens: 12, completion_tokens: -3 }, undefined],
    [{ ...both, completion_tokens_details: reasoned }, usageOf(12, 9, 0, reasoned)],
    // SGLang counts reasoning beside the other figures.
    [{ ...both, reasoning_tokens: 4 }, usageOf(12, 9, 0, { reasoning_tokens: 4 })],
    [{ ...both, reasoning_tokens: 4, completion_tokens_details: reasoned }, usageOf(12, 9, 0, reasoned)],
    // DeepSeek, Moonshot, LiteLLM, servers with the names of the Responses API, and a figure that cannot be.
    [{ ...both, prompt_cache_hit_tokens: 4 }, usageOf(12, 9, 4)],
    [{ ...both, cached_tokens: 4 }, usageOf(12, 9, 4)],
    [
      { ...both, cache_read_input_tokens: 4, prompt_tokens_details: { cached_tokens: null } },
      usageOf(12, 9, 4),
    ],
    [{ ...both, input_tokens_details: { cached_tokens: 4 } }, usageOf(12, 9, 4)],
    [{ ...both, cached_tokens: 400 }, usageOf(12, 9, 12)],
    // What was written to a cache, by OpenRouter and by Alibaba; no more than the rest of the prompt.
    [
      { ...both, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 5 } },
      usageOf(12, 9, 4, undefined, 5),
    ],
    [
      { ...both, prompt_tokens_details: { cache_creation_input_tokens: 99, cached_tokens: 4 } },
      usageOf(12, 9, 4, undefined, 8),
    ],
    // xAI counts reasoning in the total only.
    [
      { ...both, total_tokens: 712, completion_tokens_details: { reasoning_tokens: 691 } },
      usageOf(12, 700, 0, { reasoning_tokens: 691 }),
    ],
    [{}, undefined],
    [{ total_tokens: 5 }, undefined],
    [{ prompt_tokens: -7, completion_tokens: -3 }, undefined],
    [JSON.parse('{"prompt_tokens":1e999,"completion_tokens":1e999}'), undefined],
    [{ ...both, prompt_tokens_details: { cached_tokens: -1 } }, usageOf(12, 9)],
    [{ ...both, prompt_tokens_details: { cached_tokens: 'x' } }, usageOf(12, 9)],
    [{ ...both, prompt_tokens_details: 'x' }, usageOf(12, 9)],
    [{ ...both, completion_tokens_details: { reasoning_tokens: '2' } }, usageOf(12, 9, 0, {})],
    [{ ...both, completion_tokens_details: { reasoning_tokens: {} } }, usageOf(12, 9, 0, {})],
    [{ ...both, completion_tokens_details: { reasoning_tokens: -2 } }, usageOf(12, 9, 0, {})],
    [{ ...both, completion_tokens_details: { worker: 'x' } }, usageOf(12, 9, 0, {})],
    [{ ...both, completion_tokens_details: [] }, usageOf(12, 9)],
    [{ prompt_tokens: '12' }, undefined],
    [null, undefined],
    [[], undefined],
    ['12', undefined],
  ])('is parsed from %j', (given, expected) => {
    expect(readUsage(given)).toEqual(expected);
    expect(decodeOpenAiReply(replyOf({}, { usage: given })).usage).toEqual(expected);
  });

  it('has only figures that some server reports, since it is written with every chunk', () => {
    const details = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`figure_${at}`, at]));
    const usage = { prompt_tokens: 1, completion_tokens: 1, completion_tokens_details: details };
    const reply = decodeOpenAiReply(replyOf({}, { usage }));
    expect(Object.keys(reply.usage!.completion_tokens_details!).length).toBe(32);
  });
});

describe('the finish reason of a reply', () => {
  it.each([
    ['stop end_turn eos stop_sequence STOP', 'stop'],
    ['length max_tokens model-context-window-exceeded MAX_TOKENS', 'length'],
    ['tool_calls tool_use function_call', 'tool_calls'],
    ['content_filter content-filter SAFETY Recitation', 'content_filter'],
  ])('turns each of %s into %s', (words, expected) => {
    for (const given of words.split(' ')) {
      const [choice] = decodeOpenAiReply(replyOf({ finish_reason: given })).choices;
      expect([given, choice]).toEqual([given, expect.objectContaining({ finish_reason: expected })]);
      expect(choice).not.toHaveProperty('native_finish_reason');
    }
  });

  it('turns any other word into stop, and keeps the word', () => {
    const [choice] = decodeOpenAiReply(replyOf({ finish_reason: 'Repetition' })).choices;
    expect(choice).toMatchObject({ finish_reason: 'stop', native_finish_reason: 'Repetition' });
    expect(['End-Turn', 'Repetition'].map(finishLabel)).toEqual(['end_turn', 'other']);
  });

  it.each(['abort', 'error', 'network_error', 'insufficient_system_resource', 'CANCELLED', 'timeout'])(
    'rejects %s as a failure of the provider',
    given => {
      expect(() => decodeOpenAiReply(replyOf({ finish_reason: given }))).toThrow(
        expect.objectContaining({ status: 502, type: 'provider_error' }),
      );
    },
  );

  it.each([null, '', undefined])('treats %j as no end, and invents none', given => {
    expect(() => decodeOpenAiReply(replyOf({ finish_reason: given }))).toThrow(
      expect.objectContaining({ status: 502, code: 'provider_invalid' }),
    );
  });

  it('has the stop sequence of a server that names it, and ignores a token id there', () => {
    const options = { stopSequenceField: 'stop_reason' };
    const choiceOf = (choice: object) => decodeOpenAiReply(replyOf(choice), options).choices[0];
    expect(choiceOf({ stop_reason: 'END' })).toMatchObject({ finish_reason: 'stop', stop_sequence: 'END' });
    for (const stop_reason of [2, null, ''])
      expect(choiceOf({ stop_reason })).not.toHaveProperty('stop_sequence');
  });

  it('is tool_calls where there are some, even if the server says stop', () => {
    const message = { content: null, tool_calls: [{ id: 'a', function: { name: 'roll', arguments: '{}' } }] };
    expect(decodeOpenAiReply(replyOf({ message })).choices[0]!.finish_reason).toBe('tool_calls');
    const cut = decodeOpenAiReply(replyOf({ message, finish_reason: 'length' }));
    expect(cut.choices[0]!.finish_reason).toBe('length');
  });
});

describe('the message of a reply', () => {
  const content = 'Yes.';
  const said = { content, reasoning: 'One.' };
  const details = [
    { type: 'reasoning.text', text: 'One.' },
    { type: 'reasoning.summary', summary: ' Two.' },
    { type: 'reasoning.encrypted', data: 'xyz' },
  ];
  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'One.' }] },
    { type: 'thinking', thinking: ' Two.' },
    { type: 'text', text: 'Yes' },
    { type: 'text', text: '.' },
    null,
  ];
  const both = { content, reasoning: 'One. Two.' };
  it.each<[string, object, object]>([
    ['has only known fields', { content: 'Yes.', audio: {}, annotations: [] }, { content: 'Yes.' }],
    ['has a refusal', { content: null, refusal: 'No.' }, { content: '', refusal: 'No.' }],
    ['has empty content where none is sent', { content: null }, { content: '' }],
    ['has reasoning from `reasoning`', said, said],
    ['has reasoning from `reasoning_content`', { content, reasoning_content: 'One.' }, said],
    ['has reasoning once from both fields', { ...said, reasoning_content: 'One.' }, said],
    [
      'has reasoning from the older field where the newer is empty',
      { content, reasoning: '', reasoning_content: 'One.' },
      said,
    ],
    [
      'has reasoning from details, each once',
      { content, reasoning_details: [{ text: 'One.', summary: '1' }, { summary: ' Two.' }] },
      both,
    ],
    [
      'has reasoning from `reasoning_details`',
      { content, reasoning: null, reasoning_details: details },
      both,
    ],
    ['is flattened from parts', { content: parts }, both],
  ])('%s', (_, given, expected) => {
    expect(messageOf({ role: 'assistant', ...given })).toEqual({ role: 'assistant', ...expected });
  });

  it('has null content beside tool calls, which have ids and arguments as text', () => {
    const tool_calls = [
      { id: 'a', type: 'function', index: 0, function: { name: 'roll', arguments: '{"d":20}' } },
      { id: '', function: { name: 'roll', arguments: { d: 6 } } },
      { function: { name: 'stop' } },
    ];
    const made = expect.stringMatching(/^call_[0-9a-f]{24}$/);
    expect(messageOf({ content: '', tool_calls })).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'roll', arguments: '{"d":20}' } },
        { id: made, type: 'function', function: { name: 'roll', arguments: '{"d":6}' } },
        { id: made, type: 'function', function: { name: 'stop', arguments: '' } },
      ],
    });
    expect(messageOf({ content: 'Rolling.', tool_calls })).toMatchObject({ content: 'Rolling.' });
    expect(messageOf({ content: 'Yes.', tool_calls: [] })).toEqual({ role: 'assistant', content: 'Yes.' });
  });
});

describe('the choices of a reply', () => {
  it('keep their index, or get their position', () => {
    const choice = { message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' };
    const logprobs = { content: [] };
    const indexesOf = (choices: object[]) => decodeOpenAiReply({ choices }).choices.map(({ index }) => index);
    expect(indexesOf([choice, choice])).toEqual([0, 1]);
    expect(
      indexesOf([
        { ...choice, index: 1 },
        { ...choice, index: 0 },
      ]),
    ).toEqual([1, 0]);
    expect(decodeOpenAiReply({ choices: [{ ...choice, logprobs }] }).choices).toEqual([
      { index: 0, ...choice, logprobs },
    ]);
  });

  it.each([
    null,
    [],
    'text',
    {},
    { choices: [] },
    { choices: {} },
    { choices: [null] },
    { choices: [{ finish_reason: 'stop' }] },
    { object: 'chat.completion', choices: null },
  ])('cannot be read from %j', body => {
    expect(() => decodeOpenAiReply(body)).toThrow(
      expect.objectContaining({ status: 502, type: 'provider_error', code: 'provider_invalid' }),
    );
  });

  it.each([
    { error: { message: 'Overloaded', code: 503 } },
    { error: 'Unauthorized' },
    { object: 'error', message: 'Overloaded', type: 'server_error', code: 500 },
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    { detail: 'Overloaded' },
    replyOf({}, { error: { message: 'Overloaded' } }),
  ])('are rejected for the error %j inside a 200', body => {
    // Some servers call every fault 400 once their reply has begun.
    const message = expect.stringMatching(/Overloaded|Unauthorized/);
    expect(() => decodeOpenAiReply(body)).toThrow(
      expect.objectContaining({ name: 'UpstreamError', message, status: undefined }),
    );
  });
});

it('takes an index up to 65,535, and extra content of calls only from a server that it is sent back to', () => {
  expect([0, 65_535, 65_536, -1, 1.5, '1'].map(indexIn)).toEqual([0, 65_535, ...Array(4).fill(undefined)]);
  const extra_content = { signature: 'x' };
  const message = { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' }, extra_content }] };
  const callOf = (messageFields?: ReadonlySet<'extra_content'>) =>
    decodeOpenAiReply(replyOf({ message }), messageFields && { messageFields }).choices[0]!.message
      .tool_calls?.[0];
  expect(callOf()).not.toHaveProperty('extra_content');
  expect(callOf(new Set(['extra_content'] as const))).toMatchObject({ extra_content });
});
