import { describe, expect, it } from '@jest/globals';
import type {
  Message,
  ReasoningDetail,
  ReplyMessage,
} from '../../../../../src/gateway/exchange/canonical.ts';
import type { Adapter } from '../../../../../src/gateway/upstream/adapter.ts';
import { adapterOf, assembledReply, fixtureOf } from '../../../../support/provider-fixtures.ts';
import { readStream } from '../../../read-stream.ts';
import { adaptive, bodyOf, budgeted, encoded } from './encoded.ts';

const tools = fixtureOf('anthropic', 'tools');
const sealed = (signature: string, thinking = 'Hm.') => ({ type: 'thinking', thinking, signature });
const said = (text: string) => ({ type: 'text', text });
const thought = sealed('EqQBCgIYAhIM1gbcDa9GJwZA', 'Two dice are asked for.');
const uses = [
  { type: 'tool_use', id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'roll', input: { sides: 20 } },
  { type: 'tool_use', id: 'toolu_01A09q90qw90lq917835lq9', name: 'roll', input: { sides: 6 } },
];
const redacted = { type: 'redacted_thinking', data: 'Emw' };

/** The two ways in which a turn comes. */
const ways: Record<string, (adapter: Adapter) => ReplyMessage> = {
  'not streamed': adapter => adapter.decodeReply(tools.reply).choices[0]!.message,
  streamed: adapter => {
    const { chunks } = readStream(adapter.openStream(), [Buffer.from(tools.stream)]);
    return assembledReply(chunks).choices[0]!.message;
  },
};
/** A turn of these blocks. */
const come = (adapter: Adapter, ...content: unknown[]) =>
  adapter.decodeReply({ type: 'message', content, stop_reason: 'tool_use' }).choices[0]!.message;

/** What a client sends when its tools have answered; it has no place for reasoning. */
function answered({ content, tool_calls }: ReplyMessage, ...later: Message[]): Message[] {
  return [
    { role: 'user', content: 'Roll.' },
    { role: 'assistant', content, tool_calls: tool_calls! },
    ...tool_calls!.map(({ id }): Message => ({ role: 'tool', tool_call_id: id, content: '4' })),
    ...later,
  ];
}

/** Of what is sent for these messages: a turn, the thinking that is asked for, and what is ignored. */
function sent(messages: Message[], adapter?: Adapter, { target = budgeted, effort = 'high', at = 1 } = {}) {
  const { body, ignored } = encoded({ messages, reasoning_effort: effort }, target, adapter);
  const turns = body.messages as { content: unknown[] }[];
  return { turn: turns[at]!.content, thinking: (body.thinking as { type: string }).type, ignored };
}
const thinking = (...turn: unknown[]) => ({ turn, thinking: 'enabled', ignored: [] });
const unthinking = (...turn: unknown[]) => ({ turn, thinking: 'disabled', ignored: ['reasoning_effort'] });

describe.each(Object.entries(ways))('a tool loop whose turn arrived %s', (_, arrives) => {
  it('sends the original thinking block again', () => {
    const adapter = adapterOf('anthropic');
    expect(sent(answered(arrives(adapter)), adapter)).toEqual(thinking(thought, ...uses));
  });

  it.each([
    ['on another instance', adapterOf('anthropic')],
    ['with the cache disabled', adapterOf('anthropic', { remember_characters: 0 })],
  ])('disables thinking and reports the effort as ignored %s', (_where, adapter) => {
    const messages = answered(arrives(adapterOf('anthropic')));
    expect(sent(messages, adapter)).toEqual(unthinking(...uses));
  });
});

describe('an Anthropic tool loop', () => {
  const adapter = adapterOf('anthropic');
  const turn = ways.streamed!(adapter);

  it('keeps thinking on for an adaptive model, cached or not', () => {
    const asked = { target: adaptive, effort: 'low' };
    expect(sent(answered(turn), adapter, asked).turn).toEqual([thought, ...uses]);
    const forgotten = { turn: uses, thinking: 'adaptive', ignored: [] };
    expect(sent(answered(turn), undefined, asked)).toEqual(forgotten);
  });

  it('drops earlier thinking once it has ended', () => {
    const later: Message[] = [
      { role: 'assistant', content: 'Four and four.' },
      { role: 'user', content: 'Again.' },
    ];
    expect(sent(answered(turn, ...later), adapter)).toEqual(thinking(...uses));
  });

  it('sends no thinking blocks when thinking is off', () => {
    expect(sent(answered(turn), adapter, { effort: 'none' }).turn).toEqual(uses);
  });

  it('keeps redacted thinking, and drops unsigned thinking and server tool blocks', () => {
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const content = [redacted, sealed('', 'Unsigned.'), said(''), said('Rolling.'), search, uses[0]];
    const message = come(adapter, ...content);
    expect(sent(answered(message), adapter).turn).toEqual([redacted, said('Rolling.'), uses[0]]);
  });

  it('restores text blocks to their original positions', () => {
    const own = adapterOf('anthropic');
    const before = [sealed('a'), said('One, ')];
    const after = [said('two.'), sealed('b'), uses[0], said('Three.'), uses[1]];
    const message = come(own, ...before, said(' '), ...after);
    expect(message.content).toBe('One,  two.Three.');
    const turnWith = (content: string) => sent(answered({ ...message, content }), own).turn;
    expect(turnWith('One,  two.Three.')).toEqual([...before, ...after]);
    expect(turnWith('<think>Hm.\nHm.</think>One,  two.Three.')).toEqual([...before, ...after]);
    const changed = said('Something else');
    expect(turnWith('Something else')).toEqual([sealed('a'), sealed('b'), changed, ...uses]);
    expect(turnWith('')).toEqual([sealed('a'), sealed('b'), ...uses]);
  });

  it('drops all later thinking after a turn that is not cached', () => {
    const own = adapterOf('anthropic');
    const second = come(own, sealed('b', 'Again.'), uses[0]);
    const known = ways.streamed!(own);
    const unknown = {
      ...known,
      tool_calls: known.tool_calls!.map(call => ({ ...call, id: `${call.id}x` })),
    };
    const secondTurn = (first: ReplyMessage, target: typeof budgeted) =>
      sent([...answered(first), ...answered(second).slice(1)], own, { target, at: 3 }).turn;
    for (const target of [budgeted, adaptive]) {
      expect(secondTurn(known, target)).toEqual([sealed('b', 'Again.'), uses[0]]);
      expect(secondTurn(unknown, target)).toEqual([uses[0]]);
    }
  });

  it('keeps later thinking after a turn without any', () => {
    const own = adapterOf('anthropic');
    const [first, second] = [come(own, uses[0]), come(own, sealed('b'), uses[1])];
    const messages = [...answered(first), ...answered(second).slice(1)];
    const asked = { target: adaptive, effort: 'low', at: 3 };
    expect(sent(messages, own, asked).turn).toEqual([sealed('b'), uses[1]]);
  });

  it('can let the API drop thinking when the client has changed the history', () => {
    const own = adapterOf('anthropic', { on_changed_history: 'drop', beta: ['a-1'] });
    expect(own.headers).toMatchObject({ 'anthropic-beta': 'a-1,thinking-binding-controls-2026-08-01' });
    expect(bodyOf({ reasoning_effort: 'low' }, adaptive, own).thinking).toEqual({
      type: 'adaptive',
      display: 'summarized',
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    });
    for (const [reasoning_effort, target] of [
      ['none', adaptive],
      ['low', budgeted],
    ] as const)
      expect(bodyOf({ reasoning_effort }, target, own).thinking).not.toHaveProperty('block_binding');
  });

  it('cannot start thinking when it began without', () => {
    const own = adapterOf('anthropic');
    expect(sent(answered(come(own, uses[0])), own).ignored).toEqual(['reasoning_effort']);
  });
});

describe('an Anthropic tool loop whose client keeps the signed reasoning', () => {
  const format = 'anthropic-claude-v1';
  const own: ReasoningDetail[] = [
    { type: 'reasoning.text', text: 'Mine.', signature: 'm', format, index: 0 },
    { type: 'reasoning.encrypted', data: 'Emw', format, index: 1 },
  ];
  const kept = [sealed('m', 'Mine.'), redacted, said('Rolling.'), ...uses];
  const adapter = adapterOf('anthropic');
  const turn = ways.streamed!(adapter);
  const keeping = (reasoning_details: ReasoningDetail[], ...later: Message[]) => {
    const [question, called, ...results] = answered({ ...turn, content: 'Rolling.' }, ...later);
    return [question!, { ...called!, reasoning: 'Mine.', reasoning_details }, ...results];
  };

  it('sends the thinking of the client, on any instance, and thinks on', () => {
    for (const instance of [adapter, adapterOf('anthropic')])
      expect(sent(keeping(own), instance)).toEqual(thinking(...kept));
  });

  it('sends it in earlier turns as well', () => {
    expect(sent(keeping(own, { role: 'user', content: 'Again.' })).turn).toEqual(kept);
  });

  it.each([
    ['of another maker', { signature: 's', format: 'google-gemini-v1' }],
    ['of no known form', { signature: 's' }],
    ['without a signature', { format }],
  ])('sends no reasoning %s, which the API would refuse, and names it', (_, more) => {
    const { ignored, ...rest } = sent(keeping([{ type: 'reasoning.text', text: 'x', ...more }]));
    expect(rest).toEqual({ turn: [said('Rolling.'), ...uses], thinking: 'disabled' });
    expect(ignored).toEqual(['reasoning_effort', 'messages.reasoning']);
  });

  it('sends what is stored in place of what it cannot read', () => {
    const { turn: whole, ignored } = sent(keeping([{ type: 'reasoning.text', text: 'x' }]), adapter);
    expect([whole[0], ignored]).toEqual([thought, []]);
  });

  it('keeps the places of thinking, and the cache mark of the text, where the turn is stored', () => {
    const instance = adapterOf('anthropic');
    const message = come(instance, sealed('a'), said('One.'), sealed('b'), uses[0]);
    const [question, called, ...results] = answered(message);
    const cache_control = { type: 'ephemeral' as const };
    const parts = [{ type: 'text' as const, text: 'One.', cache_control }];
    const { reasoning_details = [] } = message;
    const messages = [question!, { ...called!, content: parts, reasoning_details }, ...results];
    expect(sent(messages, instance).turn).toEqual([sealed('a'), parts[0], sealed('b'), uses[0]]);
  });
});
