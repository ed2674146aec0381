import { describe, expect, it } from '@jest/globals';
import type { Message, ToolCall } from '../../../../../src/gateway/exchange/canonical.ts';
import { bodyOf, budgeted, encoded } from './encoded.ts';

const call = (id: string, text = '{"sides":20}'): ToolCall => ({
  id,
  type: 'function',
  function: { name: 'roll', arguments: text },
});
const text = (words: string) => ({ type: 'text', text: words });
const user = (content: Message['content'] = 'Roll.'): Message => ({ role: 'user', content });
const calling = (...ids: string[]): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map(id => call(id)),
});
const result = (tool_call_id: string, content: Message['content'] = '4'): Message => ({
  role: 'tool',
  tool_call_id,
  content,
});
const use = (id: string) => ({ type: 'tool_use', id, name: 'roll', input: { sides: 20 } });
const used = (id: string, words = '4') => ({ type: 'tool_result', tool_use_id: id, content: [text(words)] });

const sent = (...messages: Message[]) => {
  const { system, messages: turns } = bodyOf({ messages });
  return {
    system,
    turns: (turns as { role: string; content: unknown }[]).map(({ role, content }) => [role, content]),
  };
};

describe('a conversation for the Messages API', () => {
  it('collects system messages into one prompt, wherever they stood', () => {
    expect(
      sent({ role: 'system', content: 'Be brief.' }, user('Hi.'), {
        role: 'system',
        content: [{ type: 'text', text: 'Be kind.' }],
      }),
    ).toEqual({ system: 'Be brief.\n\nBe kind.', turns: [['user', [text('Hi.')]]] });
  });

  it('becomes a user message when it has only system messages', () => {
    expect(sent({ role: 'system', content: 'Say hi.' })).toEqual({
      system: undefined,
      turns: [['user', [text('Say hi.')]]],
    });
  });

  it('drops empty text, since the API rejects it', () => {
    expect(
      sent(
        user(''),
        user('a'),
        { role: 'assistant', content: '' },
        user([
          { type: 'text', text: ' ' },
          { type: 'text', text: 'b' },
        ]),
      ).turns,
    ).toEqual([['user', [text('a'), text('b')]]]);
    expect(sent(user(), calling('a'), result('a', '')).turns[2]).toEqual([
      'user',
      [{ type: 'tool_result', tool_use_id: 'a' }],
    ]);
    expect(() => sent(user(' '))).toThrow(expect.objectContaining({ status: 400, param: 'messages' }));
  });

  it('may have 150 000 parts in one message', () => {
    const parts = Array.from({ length: 150_000 }, () => ({ type: 'text' as const, text: 'a' }));
    expect((sent(user(), user(parts)).turns[0]![1] as unknown[]).length).toBe(150_001);
  });

  it('replaces id characters that the API rejects, alike in call and result', () => {
    expect(sent(user(), calling('functions.roll:0'), result('functions.roll:0')).turns.slice(1)).toEqual([
      ['assistant', [use('functions_roll_0')]],
      ['user', [used('functions_roll_0')]],
    ]);
  });

  it('sends an empty object for empty arguments', () => {
    const message: Message = { role: 'assistant', content: null, tool_calls: [call('a', '')] };
    expect(sent(user(), message, result('a')).turns[1]).toEqual(['assistant', [{ ...use('a'), input: {} }]]);
  });

  it('is rejected when its arguments are nested too deeply to serialize', () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const message: Message = { role: 'assistant', content: null, tool_calls: [call('a', deep)] };
    expect(() => sent(user(), message)).toThrow(
      expect.objectContaining({ status: 400, param: 'messages[1].tool_calls[0].function.arguments' }),
    );
  });

  it.each(['{"sides":', '[]', '7', 'null', 'twenty'])('is rejected when the arguments are %j', given => {
    const message: Message = { role: 'assistant', content: null, tool_calls: [call('a'), call('b', given)] };
    expect(() => sent(user(), message)).toThrow(
      expect.objectContaining({ status: 400, param: 'messages[1].tool_calls[1].function.arguments' }),
    );
  });

  it('is rejected before parsing when its arguments hold more values than a request may', () => {
    const wide = `{"a":[${'0,'.repeat(160_000)}0]}`;
    const calledWith = (...texts: string[]): Message => ({
      role: 'assistant',
      content: null,
      tool_calls: texts.map((text, at) => call(`call_${at}`, text)),
    });
    expect(() => sent(user(), calledWith(wide))).not.toThrow();
    const message = expect.stringMatching(
      /^messages: the arguments of all tool_calls must have at most 300000 values/,
    );
    for (const texts of [[wide, wide], [`"${wide}`, wide, wide], ['['.repeat(700_000)]]) {
      expect(() => sent(user(), calledWith(...texts))).toThrow(
        expect.objectContaining({ status: 400, message }),
      );
    }
  });
});

const cache_control = { type: 'ephemeral' as const, ttl: '1h' };

describe('cache marks for the Messages API', () => {
  const marked = (words: string) => ({ type: 'text' as const, text: words, cache_control });
  const rolling = { ...calling('a'), content: [marked('Rolling.')] };

  it('are the last four where there are more, and the others are named', () => {
    const { body, ignored } = encoded({
      messages: [
        { role: 'system', content: [marked('Be kind.')] },
        user([marked('a'), marked('b')]),
        rolling,
        result('a', [marked('c'), marked('d')]),
      ],
    });
    expect(ignored).toEqual(['cache_control']);
    expect(body.system).toEqual([text('Be kind.')]);
    expect(body.messages).toMatchObject([
      { content: [text('a'), marked('b')] },
      { content: [marked('Rolling.'), use('a')] },
      { content: [{ content: [marked('c'), text('d')], cache_control }] },
    ]);
    expect(JSON.stringify(body).split('cache_control')).toHaveLength(1 + 4);
  });

  it.each([
    ['none', [], '5m', true],
    ['one as long', [cache_control], '1h', true],
    ['one for longer', [cache_control], '5m', false],
    ['one for the default time', [{ type: 'ephemeral' as const }], '5m', true],
    ['four', [cache_control, cache_control, cache_control, cache_control], '1h', false],
  ] as const)('leave a place for those of prompt_caching beside %s', (_, marks, prompt_caching, isAdded) => {
    const parts = marks.map(mark => ({ type: 'text' as const, text: 'a', cache_control: mark }));
    const body = bodyOf({ messages: [user([text('Hi.') as never, ...parts])] }, budgeted, { prompt_caching });
    expect(body.cache_control).toEqual(isAdded ? { type: 'ephemeral', ttl: prompt_caching } : undefined);
  });
});

it('sends a reference to a tool in the result of one as the API has it', () => {
  const reference = { type: 'text' as const, text: '[tool reference: roll]', tool_reference: 'roll' };
  expect(sent(user(), calling('a'), result('a', [reference])).turns.at(-1)).toEqual([
    'user',
    [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'tool_reference', tool_name: 'roll' }] }],
  ]);
});
