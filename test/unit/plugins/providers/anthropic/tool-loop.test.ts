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
const thought = {
  type: 'thinking',
  thinking: 'Two dice are asked for.',
  signature: 'EqQBCgIYAhIM1gbcDa9GJwZA',
};
const uses = [
  { type: 'tool_use', id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'roll', input: { sides: 20 } },
  { type: 'tool_use', id: 'toolu_01A09q90qw90lq917835lq9', name: 'roll', input: { sides: 6 } },
];

/** The two ways in which a turn comes. */
const ways: Record<string, (adapter: Adapter) => ReplyMessage> = {
  'not streamed': adapter => adapter.decodeReply(tools.reply).choices[0]!.message,
  streamed: adapter => {
    const { chunks } = readStream(adapter.openStream(), [Buffer.from(tools.stream)]);
    return assembledReply(chunks).choices[0]!.message;
  },
};

/** What a client sends when its tools have answered; it has no place for reasoning. */
function answered({ content, tool_calls }: ReplyMessage, ...later: Message[]): Message[] {
  return [
    { role: 'user', content: 'Roll.' },
    { role: 'assistant', content, tool_calls: tool_calls! },
    ...tool_calls!.map(({ id }): Message => ({ role: 'tool', tool_call_id: id, content: '4' })),
    ...later,
  ];
}

const turnOf = (body: Record<string, unknown>, at = 1) =>
  (body.messages as { content: unknown[] }[])[at]!.content;

describe.each(Object.entries(ways))('a tool loop whose turn arrived %s', (_, come) => {
  it('sends the original thinking block again', () => {
    const adapter = adapterOf('anthropic');
    const messages = answered(come(adapter));
    const { body, ignored } = encoded({ messages, reasoning_effort: 'high' }, budgeted, adapter);
    expect(turnOf(body)).toEqual([thought, ...uses]);
    expect(body.thinking).toMatchObject({ type: 'enabled' });
    expect(ignored).toEqual([]);
  });

  it.each([
    ['on another instance', adapterOf('anthropic')],
    ['with the cache disabled', adapterOf('anthropic', { remember_characters: 0 })],
  ])('disables thinking and reports the effort as ignored %s', (_where, adapter) => {
    const messages = answered(come(adapterOf('anthropic')));
    const { body, ignored } = encoded({ messages, reasoning_effort: 'high' }, budgeted, adapter);
    expect(turnOf(body)).toEqual(uses);
    expect(body.thinking).toEqual({ type: 'disabled' });
    expect(ignored).toEqual(['reasoning_effort']);
  });
});

describe('an Anthropic tool loop', () => {
  const adapter = adapterOf('anthropic');
  const turn = ways.streamed!(adapter);

  it('keeps thinking on for an adaptive model, cached or not', () => {
    const messages = answered(turn);
    expect(turnOf(bodyOf({ messages, reasoning_effort: 'low' }, adaptive, adapter))).toEqual([
      thought,
      ...uses,
    ]);
    const forgotten = encoded({ messages, reasoning_effort: 'low' }, adaptive);
    expect(forgotten.body.thinking).toMatchObject({ type: 'adaptive' });
    expect(turnOf(forgotten.body)).toEqual(uses);
    expect(forgotten.ignored).toEqual([]);
  });

  it('drops earlier thinking once it has ended', () => {
    const messages = answered(
      turn,
      { role: 'assistant', content: 'Four and four.' },
      { role: 'user', content: 'Again.' },
    );
    const { body, ignored } = encoded({ messages, reasoning_effort: 'high' }, budgeted, adapter);
    expect(turnOf(body)).toEqual(uses);
    expect(body.thinking).toMatchObject({ type: 'enabled' });
    expect(ignored).toEqual([]);
  });

  it('sends no thinking blocks when thinking is off', () => {
    expect(turnOf(bodyOf({ messages: answered(turn), reasoning_effort: 'none' }, budgeted, adapter))).toEqual(
      uses,
    );
  });

  it('keeps redacted thinking, and drops unsigned thinking and server tool blocks', () => {
    const own = adapterOf('anthropic');
    const content = [
      { type: 'redacted_thinking', data: 'Emw' },
      { type: 'thinking', thinking: 'Unsigned.', signature: '' },
      { type: 'text', text: '' },
      { type: 'text', text: 'Rolling.' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      uses[0],
    ];
    const { message } = own.decodeReply({ type: 'message', content, stop_reason: 'tool_use' }).choices[0]!;
    expect(turnOf(bodyOf({ messages: answered(message), reasoning_effort: 'high' }, budgeted, own))).toEqual([
      { type: 'redacted_thinking', data: 'Emw' },
      { type: 'text', text: 'Rolling.' },
      uses[0],
    ]);
  });

  it('restores text blocks to their original positions', () => {
    const own = adapterOf('anthropic');
    const sealed = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature });
    const said = (text: string) => ({ type: 'text', text });
    const content = [
      sealed('a'),
      said('One, '),
      said(' '),
      said('two.'),
      sealed('b'),
      uses[0],
      said('Three.'),
      uses[1],
    ];
    const whole = { type: 'message', content, stop_reason: 'tool_use' };
    const { message } = own.decodeReply(whole).choices[0]!;
    expect(message.content).toBe('One,  two.Three.');
    const sent = (words: string) =>
      turnOf(
        bodyOf(
          { messages: answered({ ...message, content: words }), reasoning_effort: 'high' },
          budgeted,
          own,
        ),
      );
    const asItWas = content.filter(block => block !== content[2]);
    expect(sent('One,  two.Three.')).toEqual(asItWas);
    expect(sent('<think>Hm.\nHm.</think>One,  two.Three.')).toEqual(asItWas);
    const changed = [sealed('a'), sealed('b'), said('Something else'), ...uses];
    expect(sent('Something else')).toEqual(changed);
    expect(sent('')).toEqual(changed.filter(({ type }) => type !== 'text'));
  });

  it('drops all later thinking after a turn that is not cached', () => {
    const own = adapterOf('anthropic');
    const sealed = { type: 'thinking', thinking: 'Again.', signature: 'b' };
    const later = own.decodeReply({ type: 'message', content: [sealed, uses[0]], stop_reason: 'tool_use' });
    const second = later.choices[0]!.message;
    const loop = (first: ReplyMessage) => [...answered(first), ...answered(second).slice(1)];
    const request = (first: ReplyMessage) => ({ messages: loop(first), reasoning_effort: 'high' });
    const known = ways.streamed!(own);
    for (const target of [budgeted, adaptive]) {
      expect(turnOf(bodyOf(request(known), target, own), 3)).toEqual([sealed, uses[0]]);
      const forgotten = {
        ...known,
        tool_calls: known.tool_calls!.map(call => ({ ...call, id: `${call.id}x` })),
      };
      expect(turnOf(bodyOf(request(forgotten), target, own), 3)).toEqual([uses[0]]);
    }
  });

  it('keeps later thinking after a turn without any', () => {
    const own = adapterOf('anthropic');
    const come = (content: unknown[]) =>
      own.decodeReply({ type: 'message', content, stop_reason: 'tool_use' }).choices[0]!.message;
    const sealed = { type: 'thinking', thinking: 'Now I think.', signature: 'b' };
    const [first, second] = [come([uses[0]]), come([sealed, uses[1]])];
    const messages = [...answered(first), ...answered(second).slice(1)];
    expect(turnOf(bodyOf({ messages, reasoning_effort: 'low' }, adaptive, own), 3)).toEqual([
      sealed,
      uses[1],
    ]);
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
    const { message } = own.decodeReply({ type: 'message', content: [uses[0]], stop_reason: 'tool_use' })
      .choices[0]!;
    expect(encoded({ messages: answered(message), reasoning_effort: 'high' }, budgeted, own).ignored).toEqual(
      ['reasoning_effort'],
    );
  });
});

describe('an Anthropic tool loop whose client keeps the signed reasoning', () => {
  const format = 'anthropic-claude-v1';
  const own: ReasoningDetail[] = [
    { type: 'reasoning.text', text: 'Mine.', signature: 'm', format, index: 0 },
    { type: 'reasoning.encrypted', data: 'Emw', format, index: 1 },
  ];
  const blocks = [
    { type: 'thinking', thinking: 'Mine.', signature: 'm' },
    { type: 'redacted_thinking', data: 'Emw' },
  ];
  const adapter = adapterOf('anthropic');
  const turn = ways.streamed!(adapter);
  const keeping = (reasoning_details: ReasoningDetail[]) => {
    const [question, called, ...results] = answered({ ...turn, content: 'Rolling.' });
    return [question!, { ...called!, reasoning: 'Mine.', reasoning_details }, ...results];
  };

  it('sends the thinking of the client, on any instance, and thinks on', () => {
    for (const instance of [adapter, adapterOf('anthropic')]) {
      const asked = { messages: keeping(own), reasoning_effort: 'high' };
      const { body, ignored } = encoded(asked, budgeted, instance);
      expect(turnOf(body)).toEqual([...blocks, { type: 'text', text: 'Rolling.' }, ...uses]);
      expect(body.thinking).toMatchObject({ type: 'enabled' });
      expect(ignored).toEqual([]);
    }
  });

  it('sends it in earlier turns as well', () => {
    const messages = [...keeping(own), { role: 'user' as const, content: 'Again.' }];
    expect(turnOf(bodyOf({ messages, reasoning_effort: 'high' }))).toEqual([
      ...blocks,
      { type: 'text', text: 'Rolling.' },
      ...uses,
    ]);
  });

  it.each([
    ['of another maker', [{ type: 'reasoning.text', text: 'x', signature: 's', format: 'google-gemini-v1' }]],
    ['of no known form', [{ type: 'reasoning.text', text: 'x', signature: 's' }]],
    ['without a signature', [{ type: 'reasoning.text', text: 'x', format }]],
  ])('sends no reasoning %s, which the API would refuse, and names it', (_, details) => {
    const asked = { messages: keeping(details), reasoning_effort: 'high' };
    const { body, ignored } = encoded(asked);
    expect(turnOf(body)).toEqual([{ type: 'text', text: 'Rolling.' }, ...uses]);
    expect(body.thinking).toEqual({ type: 'disabled' });
    expect(ignored).toEqual(['reasoning_effort', 'messages.reasoning']);
  });

  it('sends what is stored in place of what it cannot read', () => {
    const asked = { messages: keeping([{ type: 'reasoning.text', text: 'x' }]), reasoning_effort: 'high' };
    const { body, ignored } = encoded(asked, budgeted, adapter);
    expect(turnOf(body)[0]).toEqual(thought);
    expect(ignored).toEqual([]);
  });

  it('keeps the places of thinking, and the cache mark of the text, where the turn is stored', () => {
    const instance = adapterOf('anthropic');
    const sealed = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature });
    const content = [sealed('a'), { type: 'text', text: 'One.' }, sealed('b'), uses[0]];
    const reply = { type: 'message', content, stop_reason: 'tool_use' };
    const { message } = instance.decodeReply(reply).choices[0]!;
    const [question, called, ...results] = answered(message);
    const cache_control = { type: 'ephemeral' as const };
    const { reasoning_details } = message;
    const parts = [{ type: 'text' as const, text: 'One.', cache_control }];
    const messages = [
      question!,
      { ...called!, content: parts, reasoning_details: reasoning_details! },
      ...results,
    ];
    expect(turnOf(bodyOf({ messages, reasoning_effort: 'high' }, budgeted, instance))).toEqual([
      content[0],
      parts[0],
      content[2],
      content[3],
    ]);
  });
});
