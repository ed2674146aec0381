import { describe, expect, it } from '@jest/globals';
import type { Message } from '../../../../../../src/gateway/exchange/canonical.ts';
import {
  type AcceptedMessages,
  type MessageField,
  sendReasoning,
  withFitMessages,
} from '../../../../../../src/gateway/upstream/attempt/fit-messages.ts';
import { sampleRequest } from '../../../../sample-exchange.ts';

const call = { id: 'a', type: 'function' as const, function: { name: 'roll', arguments: '{}' } };
const reasoned = { reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', signature: 's' }] };
const calling: Message = { role: 'assistant', content: null, ...reasoned, tool_calls: [call] };
const saying: Message = { role: 'assistant', content: 'Four.', ...reasoned };

const accepting = (
  fields: readonly MessageField[],
  send_reasoning: AcceptedMessages['send_reasoning'] = 'tool_turns',
): AcceptedMessages => ({ fields: new Set(fields), send_reasoning });

describe('reasoning that a client sends back', () => {
  const isSent = (message: Message, accepted: AcceptedMessages) => {
    const { request, ignored } = withFitMessages(sampleRequest({ messages: [message] }), accepted);
    const { reasoning, reasoning_details } = request.messages[0]!;
    expect(reasoning === undefined).toBe(reasoning_details === undefined);
    expect(ignored).toEqual(reasoning === undefined ? ['messages.reasoning'] : []);
    return reasoning !== undefined;
  };

  it.each<[(typeof sendReasoning)[number], boolean, boolean]>([
    ['tool_turns', true, false],
    ['always', true, true],
    ['never', false, false],
  ])('goes upstream by send_reasoning: %s', (send_reasoning, ofCalls, ofTexts) => {
    const accepted = accepting(['reasoning'], send_reasoning);
    expect([isSent(calling, accepted), isSent(saying, accepted)]).toEqual([ofCalls, ofTexts]);
  });

  it('goes to no server whose adapter does not write it', () => {
    for (const send_reasoning of sendReasoning)
      expect(isSent(calling, accepting(['image_url'], send_reasoning))).toBe(false);
  });
});

describe('cache marks and images', () => {
  const cache_control = { type: 'ephemeral' as const };
  const text = { type: 'text' as const, text: 'Hi.' };
  const marked = sampleRequest({
    messages: [
      { role: 'user', content: [{ ...text, cache_control }] },
      { role: 'assistant', content: null, tool_calls: [{ ...call, cache_control }] },
    ],
    tools: [{ type: 'function', function: { name: 'roll' }, cache_control }],
  });

  it('are left as they are, in the same request, where the adapter writes them', () => {
    const { request, ignored } = withFitMessages(marked, accepting(['cache_control']));
    expect(request).toBe(marked);
    expect(ignored).toEqual([]);
  });

  it('lose the marks of parts, calls and tools elsewhere, in a copy, named once', () => {
    const before = JSON.stringify(marked);
    const { request, ignored } = withFitMessages(marked, accepting(['reasoning']));
    expect(JSON.stringify(request)).not.toContain('cache_control');
    expect(request.messages[0]).toEqual({ role: 'user', content: [text] });
    expect(ignored).toEqual(['cache_control']);
    expect(JSON.stringify(marked)).toBe(before);
  });

  it('are refused if they are images, without which the question would be another', () => {
    const image = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } };
    const asked = sampleRequest({ messages: [{ role: 'user', content: [text, image] }] });
    expect(withFitMessages(asked, accepting(['image_url'])).request).toBe(asked);
    expect(() => withFitMessages(asked, accepting(['cache_control']))).toThrow(
      expect.objectContaining({ status: 400, param: 'messages' }),
    );
  });
});

describe('what a provider has added to a call', () => {
  const extra_content = { google: { thought_signature: 'c2ln' } };
  const messages: Message[] = [
    { role: 'assistant', content: null, tool_calls: [{ ...call, extra_content }] },
  ];

  it('goes back where the adapter writes it, and is left out and named elsewhere', () => {
    const given = sampleRequest({ messages });
    expect(withFitMessages(given, accepting(['extra_content', 'cache_control'])).request).toBe(given);
    const { request, ignored } = withFitMessages(given, accepting(['cache_control']));
    expect(request.messages[0]!.tool_calls).toEqual([call]);
    expect(ignored).toEqual(['messages.tool_calls.extra_content']);
  });
});

describe('a reference to a tool in the result of one', () => {
  const reference = { type: 'text' as const, text: '[tool reference: roll]', tool_reference: 'roll' };
  const other = { type: 'text' as const, text: 'Found.' };
  const result = (content: Message['content']) =>
    sampleRequest({ messages: [{ role: 'tool', tool_call_id: 'a', content: content! }] });

  it('stays where the adapter writes it, and is a text elsewhere', () => {
    const given = result([reference]);
    expect(withFitMessages(given, accepting(['tool_reference', 'cache_control'])).request).toBe(given);
    const contentFor = (content: Message['content']) => {
      const { request, ignored } = withFitMessages(result(content), accepting(['image_url']));
      expect(ignored).toEqual([]);
      return request.messages[0]!.content;
    };
    expect(contentFor([reference])).toBe('[tool reference: roll]');
    expect(contentFor([other, reference])).toBe('Found.\n[tool reference: roll]');
    expect(contentFor([other])).toEqual([other]);
  });
});

describe('an item in the form of another API', () => {
  const native = { format: 'anthropic', item: { type: 'server_tool_use', id: 's1', name: 'web_search' } };
  const noted = { type: 'text' as const, text: '[web search: rivers]', native };
  const said = { type: 'text' as const, text: 'They bend.' };
  const given = sampleRequest({ messages: [{ role: 'assistant', content: [noted, said] }] });

  it('stays where the adapter writes it, and is its text elsewhere', () => {
    expect(withFitMessages(given, accepting(['native', 'cache_control'])).request).toBe(given);
    const { request, ignored } = withFitMessages(given, accepting(['tool_reference']));
    expect(ignored).toEqual([]);
    expect(request.messages[0]!.content).toBe('[web search: rivers]\nThey bend.');
    expect(given.messages[0]!.content).toEqual([noted, said]);
  });
});
