import { describe, expect, it } from '@jest/globals';
import type {
  Choice,
  Delta,
  FinishReason,
  ReasoningDetail,
  ReplyMessage,
} from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { identity, messageFormat, openStream, streamedBy } from '../../../src/gateway/dialects/renderings.ts';
import { eventsIn, namesIn, readMessage } from '../../../src/gateway/dialects/stream-readers.ts';

const usage = usageOf(12, 9, 4, { reasoning_tokens: 5 }, 3);
function rendered(message: Partial<ReplyMessage>, more: Partial<Choice> = {}) {
  const choice: Choice = {
    index: 0,
    message: { role: 'assistant', content: '', ...message },
    finish_reason: 'stop',
    ...more,
  };
  return messageFormat.renderReply(identity(), { choices: [choice], usage });
}
const contentOf = (...args: Parameters<typeof rendered>) => JSON.parse(rendered(...args)).content;
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
const encrypted = { type: 'reasoning.encrypted', data: 'ZGF0YQ==', format: claude };
const redacted = { type: 'redacted_thinking', data: 'ZGF0YQ==' };
const thinking = (text: string, signature: unknown = '') => ({ type: 'thinking', thinking: text, signature });
const text = (said: string) => ({ type: 'text', text: said });
const ofOurs = expect.stringMatching(/^sluice-detail-v1:/);
const invalid = expect.objectContaining({ code: 'provider_invalid' });

describe('a whole reply in the Messages format', () => {
  it('has text, the stop reason and usage without cached tokens', () => {
    expect(JSON.parse(rendered({ content: 'Hello.' }))).toEqual({
      ...{ id: 'msg_5f2', type: 'message', role: 'assistant', model: 'aion-labs/aion-3.5' },
      content: [text('Hello.')],
      ...{ stop_reason: 'end_turn', stop_sequence: null },
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 4,
        output_tokens: 9,
        output_tokens_details: { thinking_tokens: 5 },
      },
    });
  });

  it.each<[Partial<Choice>, Partial<ReplyMessage>, string, object]>([
    [{ finish_reason: 'length' }, {}, 'max_tokens', { stop_sequence: null }],
    [{ finish_reason: 'tool_calls' }, {}, 'tool_use', { stop_sequence: null }],
    [{ stop_sequence: '###' }, {}, 'stop_sequence', { stop_sequence: '###' }],
    [
      { finish_reason: 'content_filter' },
      {},
      'refusal',
      { stop_details: { type: 'refusal', category: null, explanation: null } },
    ],
    [{}, { refusal: 'I cannot.' }, 'refusal', { content: [], stop_details: { explanation: 'I cannot.' } }],
  ])('for %j of %j ends with %s', (choice, message, stop_reason, end) => {
    expect(JSON.parse(rendered(message, choice))).toMatchObject({ stop_reason, ...end });
  });

  it('has calls with their input as the model wrote it, and ids of their own', () => {
    const tool_calls = [call('{"n": 12345678901234567890}'), call('', 'call_1'), call('{}', '')];
    const json = rendered({ content: null, tool_calls }, { finish_reason: 'tool_calls' });
    expect(json).toContain('"input":{"n": 12345678901234567890}');
    const ids = JSON.parse(json).content.map((block: { id: string; input: object }) => [
      block.id,
      Object.keys(block.input),
    ]);
    expect(ids).toEqual([
      ['call_1', ['n']],
      ['toolu_5f2_1', []],
      ['toolu_5f2_2', []],
    ]);
  });

  it('refuses a call with arguments that are no object, unless the reply was cut off', () => {
    const of = (args: string, finish_reason: FinishReason) =>
      contentOf({ tool_calls: [call(args)] }, { finish_reason });
    for (const args of ['{"sides":', '[1]', 'twenty']) expect(() => of(args, 'tool_calls')).toThrow(invalid);
    expect(of('{"sides":', 'length')).toMatchObject([{ type: 'tool_use', input: {} }]);
  });

  it.each<[string, Partial<ReplyMessage>, object[]]>([
    [
      'one block without a signature where nothing is signed',
      { reasoning: 'Hm.', content: 'Yes.' },
      [thinking('Hm.'), text('Yes.')],
    ],
    [
      'the blocks that were signed',
      {
        reasoning: 'One.\nTwo.',
        reasoning_details: [signed('One.', 'c2ln'), encrypted, signed('Two.', 'bmF0')],
      },
      [thinking('One.', 'c2ln'), redacted, thinking('Two.', 'bmF0')],
    ],
    [
      'without the signed text that a stage has changed',
      { reasoning: 'I am [name].', reasoning_details: [signed('I am Ann.', 's'), encrypted] },
      [thinking('I am [name].'), redacted],
    ],
    [
      'with signatures of other providers in a form of ours',
      {
        reasoning: 'In short.',
        reasoning_details: [
          { type: 'reasoning.summary', summary: 'In short.', format: 'x' },
          { ...encrypted, format: 'x' },
        ],
      },
      [thinking('In short.', ofOurs), { type: 'redacted_thinking', data: ofOurs }],
    ],
  ])('has thinking as %s', (_, message, blocks) => {
    expect(contentOf(message)).toEqual(blocks);
  });
});

describe('a signature that a client sends back', () => {
  const sealed = (detail: unknown) =>
    `sluice-detail-v1:${Buffer.from(JSON.stringify(detail)).toString('base64')}`;
  const readFrom = (signature: string) =>
    messageFormat.parse({
      ...{ model: 'a/b', max_tokens: 5 },
      messages: [{ role: 'assistant', content: [thinking('Hm.', signature)] }],
    }).messages[0]?.reasoning_details;

  it.each<[string, string]>([
    ['is empty', 'sluice-detail-v1:'],
    ['is no JSON', 'sluice-detail-v1:AAAA'],
    ['is a list', sealed([])],
    ['has no type', sealed({ type: 5 })],
    ['has very many values', sealed({ type: 'reasoning.text', list: Array(40).fill([]) })],
    [
      'has very many members',
      sealed(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [at ? `n_${at}` : 'type', 'x']))),
    ],
  ])('is taken for one of the provider where it is forged and %s', (_, signature) => {
    expect(readFrom(signature)).toEqual([signed('Hm.', signature)]);
  });

  it('brings only flat members', () => {
    const detail = { type: 'reasoning.text', signature: 's', deep: { er: [[]] }, list: [1], index: 0 };
    expect(readFrom(sealed(detail))).toEqual([
      { type: 'reasoning.text', text: 'Hm.', signature: 's', index: 0 },
    ]);
  });
});

const piece = (index: number, args: string, id?: string, name?: string): Delta => ({
  tool_calls: [
    {
      index,
      ...(id !== undefined && { id, type: 'function' }),
      function: { arguments: args, ...(name && { name }) },
    },
  ],
});
const details = (...reasoning_details: ReasoningDetail[]): Delta => ({ reasoning_details });
const role = chunkOf({ role: 'assistant', content: '' });
const streamed = (deltas: readonly Delta[], finish: FinishReason = 'stop') =>
  streamedBy(messageFormat, [
    role,
    ...deltas.map(delta => chunkOf(delta)),
    { ...chunkOf({}, finish), usage },
  ]);
const blocksOf = (...deltas: Delta[]) => readMessage(streamed(deltas)).message.content;
const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });

describe('a Messages stream', () => {
  it('has the events of the format, and no [DONE]', () => {
    const written = streamed([{ reasoning: 'Hm' }, { reasoning: '.' }, { content: 'Yes' }]);
    const block = (deltas: number) =>
      ['start', ...Array(deltas).fill('delta'), 'stop'].map(step => `content_block_${step}`);
    expect(namesIn(written)).toEqual([
      'message_start',
      'ping',
      ...block(3),
      ...block(1),
      'message_delta',
      'message_stop',
    ]);
    expect(eventsIn(written)[5]?.json).toHaveProperty('delta', { type: 'signature_delta', signature: '' });
  });

  it('writes calls while they come, and keeps the connection alive with pings', () => {
    const stream = openStream(messageFormat);
    stream.chunk(role);
    expect(namesIn(stream.chunk(chunkOf(piece(0, '', 'call_1', 'roll'))))).toEqual(['content_block_start']);
    expect(namesIn(stream.chunk(chunkOf(piece(0, '{"sides'))))).toEqual(['content_block_delta']);
    expect(eventsIn(stream.heartbeat!())).toEqual([{ event: 'ping', json: { type: 'ping' } }]);
  });

  it.each<[string, Delta[], object[]]>([
    [
      'has no signature of a text that a stage has changed',
      [{ reasoning: 'I am [name].' }, details(signed('I am Ann.', 's'))],
      [thinking('I am [name].')],
    ],
    [
      'has text and signatures only, whatever a server signs',
      [
        details({ ...encrypted, type: 'reasoning.text', text: { a: 1 }, signature: ['s'] } as never),
        { content: 'Yes' },
      ],
      [text('Yes')],
    ],
    [
      'brings a signature that comes after the answer in a block without a text',
      [{ reasoning: 'One.' }, { content: 'Yes.' }, details(signed('One.', 'c2ln'))],
      [thinking('One.'), text('Yes.'), thinking('', ofOurs)],
    ],
    [
      'tells reasoning once that waits behind a call without a name',
      [
        ...[
          piece(0, '{}', 'call_1', 'roll'),
          piece(1, '', 'call_2'),
          { reasoning: 'Hm.' },
          details(signed('Hm.', 's')),
        ],
        piece(1, '', undefined, 'toss'),
      ],
      [use('call_1', 'roll', {}), use('call_2', 'toss', {}), thinking('Hm.')],
    ],
    [
      'has the id and the name of a call that its first piece lacks',
      [piece(0, ''), piece(0, '{}', 'call_1', 'roll')],
      [use('call_1', 'roll', {})],
    ],
    [
      'has no input where arguments are white space',
      [piece(0, ' ', 'a', 'roll'), piece(0, '\n')],
      [use('a', 'roll', {})],
    ],
    [
      'takes white space behind arguments',
      [piece(0, ' {} ', 'a', 'roll'), piece(0, '\n')],
      [use('a', 'roll', {})],
    ],
  ])('%s', (_, deltas, blocks) => {
    expect(blocksOf(...deltas)).toEqual(blocks);
  });

  it.each(['null', '[1]', 'roll', '}', '{}x', '{}{}'])('fails when the arguments of a call are %s', given => {
    expect(() => streamed([piece(0, given, 'a', 'roll')])).toThrow(invalid);
    const pieces = [...given].map((one, at) => piece(0, one, ...(at === 0 ? ['a', 'roll'] : [])));
    expect(() => streamed(pieces)).toThrow(invalid);
  });

  it('fails when arguments lack their end, unless the reply was cut off', () => {
    const cut = [piece(0, '{"sides":2', 'a', 'roll')];
    expect(() => streamed(cut, 'tool_calls')).toThrow(invalid);
    expect(readMessage(streamed(cut, 'length')).message.content).toEqual([use('a', 'roll', {})]);
  });

  it('fails when too much waits behind a call that does not end, but not when as much did one after the other', () => {
    const stream = openStream(messageFormat);
    const begun = [piece(0, '{', 'call_1', 'roll'), piece(1, '{"a":"', 'call_2', 'toss')];
    for (const delta of begun) stream.chunk(chunkOf(delta));
    const much = chunkOf(piece(1, 'x'.repeat(1_000_000)));
    for (let at = 0; at < 8; at++) stream.chunk(much);
    const cause = new Error('too much behind a call that does not end');
    expect(() => stream.chunk(much)).toThrow(expect.objectContaining({ cause }));
    const long = `{"a":"${'x'.repeat(2_000_000)}"`;
    const turns = [0, 1, 2, 3, 4, 5].flatMap(at => [
      piece(at + 1, long, `call_${at + 1}`, 'roll'),
      piece(at, '}'),
    ]);
    const blocks = blocksOf(piece(0, '{', 'call_0', 'roll'), ...turns, piece(6, '}'));
    expect(blocks.map(({ input }) => (input as { a?: string }).a?.length)).toEqual([
      undefined,
      ...Array(6).fill(2_000_000),
    ]);
  });
});
