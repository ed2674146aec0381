import { describe, expect, it } from '@jest/globals';
import type { Choice, ReasoningDetail, ReplyMessage } from '../../../../../src/canonical.ts';
import { messages } from '../../../../../src/dialects/messages/index.ts';
import { usage, whole } from '../../../message-setting.ts';

const dialect = messages.create({ enabled: true }, { models: [] });
const rendered = (message: Partial<ReplyMessage>, more: Partial<Choice> = {}) =>
  whole({
    choices: [
      { index: 0, message: { role: 'assistant', content: '', ...message }, finish_reason: 'stop', ...more },
    ],
    usage,
  });
const call = (text: string, id = 'call_1') => ({
  id,
  type: 'function' as const,
  function: { name: 'roll', arguments: text },
});
const claude = 'anthropic-claude-v1';
const signed = (text: string, signature: string): ReasoningDetail => ({
  type: 'reasoning.text',
  text,
  signature,
  format: claude,
});
const thinking = (text: string, signature: string) => ({ type: 'thinking', thinking: text, signature });

/** What a client that sends the blocks of `message` back has said. */
const sentBack = (message: ReturnType<typeof whole>) =>
  dialect.parse({
    model: 'a/b',
    max_tokens: 5,
    messages: [{ role: 'assistant', content: message.content }],
  }).messages[0];

describe('a whole reply in the Messages format', () => {
  it('has text, the stop reason and usage without cached tokens', () => {
    expect(rendered({ content: 'Hello.' })).toEqual({
      id: 'msg_5f2',
      type: 'message',
      role: 'assistant',
      model: 'aion-labs/aion-3.5',
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 4,
        output_tokens: 9,
        output_tokens_details: { thinking_tokens: 5 },
      },
    });
  });

  it.each<[Partial<Choice>, object]>([
    [{ finish_reason: 'length' }, { stop_reason: 'max_tokens', stop_sequence: null }],
    [{ stop_sequence: '###' }, { stop_reason: 'stop_sequence', stop_sequence: '###' }],
    [
      { finish_reason: 'content_filter' },
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: null } },
    ],
  ])('ends for %j', (choice, end) => {
    expect(rendered({ content: 'Hello.' }, choice)).toMatchObject(end);
  });

  it('has the words of a refusal beside the content', () => {
    expect(rendered({ refusal: 'I cannot.' })).toMatchObject({
      content: [],
      stop_reason: 'refusal',
      stop_details: { explanation: 'I cannot.' },
    });
  });

  it('has calls with their input as the model wrote it, and ids of their own', () => {
    const text = dialect.renderReply(
      { key: '5f2', created: 0, model: 'a/b', request: {} as never, now_s: () => 0 },
      {
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: null,
              tool_calls: [call('{"n": 12345678901234567890}'), call('', 'call_1'), call('{}', '')],
            },
            finish_reason: 'tool_calls',
          },
        ],
      },
    );
    expect(text).toContain('"input":{"n": 12345678901234567890}');
    expect(JSON.parse(text)).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'tool_use', id: 'call_1', name: 'roll' },
        { type: 'tool_use', id: 'toolu_5f2_1', name: 'roll', input: {} },
        { type: 'tool_use', id: 'toolu_5f2_2', name: 'roll', input: {} },
      ],
    });
  });

  it('refuses a call with arguments that are no object, unless the reply was cut off', () => {
    for (const text of ['{"sides":', '[1]', 'twenty'])
      expect(() => rendered({ tool_calls: [call(text)] }, { finish_reason: 'tool_calls' })).toThrow(
        'returned an invalid response',
      );
    expect(rendered({ tool_calls: [call('{"sides":')] }, { finish_reason: 'length' }).content).toMatchObject([
      { type: 'tool_use', input: {} },
    ]);
  });
});

describe('thinking in a whole reply', () => {
  it('is one block without a signature where nothing is signed', () => {
    expect(rendered({ reasoning: 'Hm.', content: 'Yes.' }).content).toEqual([
      thinking('Hm.', ''),
      { type: 'text', text: 'Yes.' },
    ]);
  });

  it('is the blocks that were signed, which come back as they were', () => {
    const details = [
      signed('One.', 'c2ln'),
      { type: 'reasoning.encrypted', data: 'ZGF0YQ==', format: claude },
      signed('Two.', 'bmF0'),
    ];
    const message = rendered({ reasoning: 'One.\nTwo.', reasoning_details: details });
    expect(message.content).toEqual([
      thinking('One.', 'c2ln'),
      { type: 'redacted_thinking', data: 'ZGF0YQ==' },
      thinking('Two.', 'bmF0'),
    ]);
    expect(sentBack(message)).toEqual({
      role: 'assistant',
      content: '',
      reasoning: 'One.\nTwo.',
      reasoning_details: details,
    });
  });

  it('brings back what other providers have signed, all of it', () => {
    const details = [
      {
        type: 'reasoning.summary',
        summary: 'In short.',
        id: 'rs_1',
        format: 'openai-responses-v1',
        index: 0,
      },
      { type: 'reasoning.encrypted', data: 'ZGF0YQ==', id: 'rs_1', format: 'openai-responses-v1', index: 1 },
      { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', format: 'google-gemini-v1', index: 2 },
    ];
    const message = rendered({ reasoning: 'In short.Hm.', reasoning_details: details });
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: 'In short.' },
      { type: 'redacted_thinking' },
      { type: 'thinking', thinking: 'Hm.' },
    ]);
    expect(sentBack(message)?.reasoning_details).toEqual(details);
  });

  it('leaves out signed texts that a stage has changed', () => {
    const encrypted = { type: 'reasoning.encrypted', data: 'ZGF0YQ==', format: claude };
    const changed = {
      reasoning: 'My name is [name].',
      reasoning_details: [signed('My name is Ann.', 's'), encrypted],
    };
    expect(rendered(changed).content).toEqual([
      thinking('My name is [name].', ''),
      { type: 'redacted_thinking', data: 'ZGF0YQ==' },
    ]);
  });

  it.each([
    'sluice-detail-v1:',
    'sluice-detail-v1:AAAA',
    'sluice-detail-v1:W10=',
    'sluice-detail-v1:eyJ0eXBlIjo1fQ==',
  ])('takes the signature %s, which is none of ours, for one of the provider', signature => {
    const block = { type: 'thinking', thinking: 'Hm.', signature };
    const message = { content: [block] } as unknown as ReturnType<typeof whole>;
    expect(sentBack(message)?.reasoning_details).toEqual([signed('Hm.', signature)]);
  });

  it.each<[string, object]>([
    ['values', { type: 'reasoning.text', list: Array(40).fill([]) }],
    ['members', Object.fromEntries(Array.from({ length: 40 }, (_, at) => [at ? `name_${at}` : 'type', 'x']))],
  ])('does not parse a forged signature of very many %s', (_, detail) => {
    const signature = `sluice-detail-v1:${Buffer.from(JSON.stringify(detail)).toString('base64')}`;
    const message = { content: [thinking('Hm.', signature)] } as unknown as ReturnType<typeof whole>;
    expect(sentBack(message)?.reasoning_details).toEqual([signed('Hm.', signature)]);
  });

  it('takes only flat members from a signature', () => {
    const detail = { type: 'reasoning.text', signature: 's', deep: { er: [[]] }, list: [1], index: 0 };
    const signature = `sluice-detail-v1:${Buffer.from(JSON.stringify(detail)).toString('base64')}`;
    const message = { content: [thinking('Hm.', signature)] } as unknown as ReturnType<typeof whole>;
    expect(sentBack(message)?.reasoning_details).toEqual([
      { type: 'reasoning.text', text: 'Hm.', signature: 's', index: 0 },
    ]);
  });
});
