import { describe, expect, it } from '@jest/globals';
import { addDetails } from '../../../../../plugins/providers/openrouter/reasoning-details.ts';
import { ReplyAssembler } from '../../../../../src/gateway/exchange/assemble-reply.ts';
import type {
  Chunk,
  Completion,
  Message,
  ReasoningDetail,
} from '../../../../../src/gateway/exchange/canonical.ts';
import type { Adapter } from '../../../../../src/gateway/upstream/adapter.ts';
import { adapterOf, fixtureOf } from '../../../../support/provider-fixtures.ts';
import { type ReadStream, readStream } from '../../../read-stream.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const tools = fixtureOf('openrouter', 'tools');
const target = { model: 'inner', effortMap: {}, extraParameters: [] };
const details = [
  {
    type: 'reasoning.text',
    text: 'Two dice are asked for.',
    format: 'anthropic-claude-v1',
    index: 0,
    signature: 'c2lnbmVk',
  },
];

const ways: Record<string, (adapter: Adapter) => Completion | ReadStream> = {
  'not streamed': adapter => adapter.decodeReply(tools.reply),
  streamed: adapter => readStream(adapter.openStream(), [Buffer.from(tools.stream)]),
};

const assembledDetails = (chunks: readonly Chunk[]) => {
  const assembler = new ReplyAssembler();
  for (const chunk of chunks) assembler.add(chunk);
  return assembler.reply().choices[0]!.message;
};

/** The history that a client sends: it has no place for reasoning. */
const { tool_calls } = tools.choices[0]!.message;
const messages: Message[] = [
  { role: 'user', content: 'Roll.' },
  { role: 'assistant', content: null, tool_calls: tool_calls! },
  { role: 'tool', tool_call_id: tool_calls![0]!.id, content: '4' },
];

describe.each(Object.entries(ways))('an OpenRouter turn that arrived %s', (_, come) => {
  it('is sent again with the reasoning of its calls', () => {
    const adapter = adapterOf('openrouter');
    come(adapter);
    expect(adapter.encode(sampleRequest({ messages }), target).body.messages).toEqual([
      messages[0],
      { ...messages[1], reasoning_details: details },
      messages[2],
    ]);
  });

  it('has its reasoning details, whole', () => {
    const reply = come(adapterOf('openrouter'));
    const message = 'choices' in reply ? reply.choices[0]!.message : assembledDetails(reply.chunks);
    expect(message.reasoning_details).toEqual(details);
  });

  it('is sent again with the reasoning that the client has kept, if it has', () => {
    const adapter = adapterOf('openrouter');
    come(adapter);
    const own = [{ type: 'reasoning.encrypted', data: 'mine' }];
    const kept = messages.map(message =>
      message.tool_calls ? { ...message, reasoning: 'Mine.', reasoning_details: own } : message,
    );
    expect(adapter.encode(sampleRequest({ messages: kept }), target).body.messages).toEqual(kept);
  });

  it('is sent unchanged when nothing is cached', () => {
    const adapter = adapterOf('openrouter', { remember_characters: 0 });
    come(adapter);
    for (const one of [adapter, adapterOf('openrouter')])
      expect(one.encode(sampleRequest({ messages }), target).body.messages).toEqual(messages);
  });
});

describe('reasoning details in pieces', () => {
  const joined = (...pieces: ReasoningDetail[]) => {
    const to: ReasoningDetail[] = [];
    for (const piece of pieces) addDetails(to, [piece]);
    return to;
  };

  it('are joined per block only', () => {
    const sealed = { type: 'reasoning.encrypted', data: 'x', id: 'rs_1', index: 1 };
    expect(
      joined(
        { type: 'reasoning.summary', summary: 'a', index: 0 },
        { type: 'reasoning.summary', summary: 'b', index: 0 },
        sealed,
        sealed,
        { type: 'reasoning.text', text: 'c', index: 2 },
        { type: 'reasoning.text', text: null, signature: 's', index: 2 },
        { type: 'reasoning.text', text: 'd', index: 2 },
        { type: 'reasoning.text', text: 'e', index: 3 },
      ),
    ).toEqual([
      { type: 'reasoning.summary', summary: 'ab', index: 0 },
      sealed,
      sealed,
      { type: 'reasoning.text', text: 'c', signature: 's', index: 2 },
      { type: 'reasoning.text', text: 'd', index: 2 },
      { type: 'reasoning.text', text: 'e', index: 3 },
    ]);
  });
});

describe('reasoning details of a stream', () => {
  it('are passed on once each, whole, as soon as nothing can be added to them', () => {
    const stream = adapterOf('openrouter').openStream();
    const text = (words: string, index: number, more: object = {}) => ({
      type: 'reasoning.text',
      text: words,
      index,
      ...more,
    });
    const shown = (delta: object, finish_reason: string | null = null) => {
      const event = { choices: [{ index: 0, delta, finish_reason }] };
      const [chunk] = stream.decode({ data: JSON.stringify(event) });
      return chunk!.choices[0]!.delta.reasoning_details;
    };
    const of = (...reasoning_details: object[]) => ({ reasoning_details });
    expect(shown(of(text('a', 0)))).toBeUndefined();
    expect(shown(of(text('b', 0)))).toBeUndefined();
    expect(shown(of(text('', 0, { signature: 's' })))).toEqual([text('ab', 0, { signature: 's' })]);
    expect(shown(of(text('c', 1)))).toBeUndefined();
    expect(shown(of(text('d', 2)))).toEqual([text('c', 1)]);
    expect(shown({ content: 'Hi.' })).toEqual([text('d', 2)]);
    const encrypted = { type: 'reasoning.encrypted', data: 'x' };
    expect(shown(of(encrypted))).toEqual([encrypted]);
    expect(shown(of(text('e', 3)))).toBeUndefined();
    expect(shown({}, 'stop')).toEqual([text('e', 3)]);
  });
});

describe('reasoning details that a client sends to OpenRouter', () => {
  const detail = (format: string | null) => ({ type: 'reasoning.encrypted', data: 'x', format });
  const all = [detail('anthropic-claude-v1'), detail('google-gemini-v1'), detail('unknown'), detail(null)];
  const sent = (model: string, given: ReasoningDetail[]) => {
    const kept = messages.map(message =>
      message.tool_calls ? { ...message, reasoning_details: given } : message,
    );
    const { body } = adapterOf('openrouter').encode(sampleRequest({ messages: kept }), { ...target, model });
    return (body.messages as Message[])[1]!.reasoning_details;
  };

  it('are left out where another vendor has signed them', () => {
    expect(sent('anthropic/claude-sonnet-4.5', all)).toEqual([all[0], all[2], all[3]]);
    expect(sent('google/gemini-3-pro', all)).toEqual(all.slice(1));
    expect(sent('openai/gpt-5', all.slice(0, 2))).toBeUndefined();
    for (const model of ['some/model', 'inner', 'constructor/x']) expect(sent(model, all)).toEqual(all);
  });
});
