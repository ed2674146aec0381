import { afterEach, describe, expect, it } from '@jest/globals';
import type { ToolCallDelta } from '../../src/canonical.ts';
import type { ClientStream } from '../support/gateway-under-test.ts';
import {
  bothWays,
  closeHealthy,
  completion,
  contentOf,
  delta,
  expectNoTrace,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  reasoningOf,
  said,
  used,
} from '../support/hostile-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const tools = [{ type: 'function', function: { name: 'roll', parameters: { type: 'object' } } }];
const call = (fields: object) => delta({ tool_calls: [fields] });
const done = [finished(), '[DONE]'];

/** The tool calls of a stream put together as clients do it: by index, names set, arguments joined. */
function callsOf({ events: all }: ClientStream): { id: string; name: string; arguments: string }[] {
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const part of all.flatMap(({ json }) => json.choices?.flatMap(partsOf) ?? [])) {
    const { index, id, type, function: called } = part;
    const known = calls[index];
    if (known) {
      expect({ id, type }).toEqual({ id: undefined, type: undefined });
      known.name += called?.name ?? '';
      known.arguments += called?.arguments ?? '';
      continue;
    }
    // The first delta of a call says what it is (protocol d13), and indexes have no gaps.
    expect({ index, type }).toEqual({ index: calls.length, type: 'function' });
    expect(id).toEqual(expect.stringMatching(/./));
    calls.push({ id: id ?? '', name: called?.name ?? '', arguments: called?.arguments ?? '' });
  }
  return calls;
}

const partsOf = ({ delta }: { delta: { tool_calls?: ToolCallDelta[] } }) => delta.tool_calls ?? [];

const d20 = { name: 'roll', arguments: '{"d":20}' };
const d6 = { name: 'roll', arguments: '{"d":6}' };

describe('tool calls in a stream', () => {
  const streams: readonly { form: string; parts: readonly object[]; ids?: string[] }[] = [
    {
      form: 'as OpenAI sends them',
      parts: [
        call({ index: 0, id: 'a', type: 'function', function: { name: 'roll', arguments: '' } }),
        call({ index: 0, function: { arguments: '{"d":' } }),
        call({ index: 0, function: { arguments: '20}' } }),
        call({ index: 1, id: 'b', type: 'function', function: { name: 'roll', arguments: '' } }),
        call({ index: 1, function: { arguments: '{"d":6}' } }),
      ],
      ids: ['a', 'b'],
    },
    {
      form: 'without index',
      parts: [
        call({ id: 'a', type: 'function', function: { name: 'roll', arguments: '{"d":' } }),
        call({ function: { arguments: '20}' } }),
        call({ id: 'b', type: 'function', function: d6 }),
      ],
      ids: ['a', 'b'],
    },
    {
      form: 'without index, all at once',
      parts: [
        delta({
          tool_calls: [
            { id: 'a', function: d20 },
            { id: 'b', function: d6 },
          ],
        }),
      ],
      ids: ['a', 'b'],
    },
    {
      form: 'without id',
      parts: [
        call({ index: 0, type: 'function', function: { name: 'roll', arguments: '' } }),
        call({ index: 0, function: { arguments: '{"d":20}' } }),
        call({ index: 1, function: d6 }),
      ],
    },
    { form: 'without index and id', parts: [call({ function: d20 }), call({ function: d6 })] },
    {
      form: 'with an empty id',
      parts: [call({ index: 0, id: '', function: d20 }), call({ index: 1, id: '', function: d6 })],
    },
    {
      form: 'with null for what is not there',
      parts: [
        call({ index: 0, id: 'a', type: 'function', function: { name: 'roll', arguments: null } }),
        call({ index: 0, id: null, type: null, function: { name: null, arguments: '{"d":20}' } }),
        call({ index: 1, id: 'b', function: d6 }),
      ],
      ids: ['a', 'b'],
    },
    {
      form: 'with arguments that are objects',
      parts: [
        call({ index: 0, id: 'a', function: { name: 'roll', arguments: { d: 20 } } }),
        call({ index: 1, id: 'b', function: { name: 'roll', arguments: { d: 6 } } }),
      ],
      ids: ['a', 'b'],
    },
    {
      form: 'with the id on every delta',
      parts: [
        call({ index: 0, id: 'a', type: 'function', function: { name: 'roll', arguments: '{"d":' } }),
        call({ index: 0, id: 'a', type: 'function', function: { arguments: '20}' } }),
        call({ index: 1, id: 'b', type: 'function', function: d6 }),
      ],
      ids: ['a', 'b'],
    },
    {
      form: 'with the name after the id',
      parts: [
        call({ index: 0, id: 'a', type: 'function' }),
        call({ index: 0, function: { name: 'roll', arguments: '' } }),
        call({ index: 0, function: { arguments: '{"d":20}' } }),
        call({ index: 1, id: 'b', type: 'function', function: d6 }),
      ],
      ids: ['a', 'b'],
    },
    {
      form: 'interleaved',
      parts: [
        call({ index: 0, id: 'a', function: { name: 'roll', arguments: '' } }),
        call({ index: 1, id: 'b', function: { name: 'roll', arguments: '' } }),
        call({ index: 0, function: { arguments: '{"d":20' } }),
        call({ index: 1, function: { arguments: '{"d":6}' } }),
        call({ index: 0, function: { arguments: '}' } }),
      ],
      ids: ['a', 'b'],
    },
  ];

  it.each(streams)('$form are whole', async ({ parts, ids }) => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(...parts, ...done)));
    const reply = await stream({ tools });
    // The upstream said `stop`; whoever reads tool calls looks for the other reason (protocol d12).
    expectWholeStream(reply, '', 'tool_calls');
    const calls = callsOf(reply);
    expect(calls.map(({ id, ...called }) => called)).toEqual([d20, d6]);
    if (ids) expect(calls.map(({ id }) => id)).toEqual(ids);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  it('come after the text that was said before them', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(
      streamed(events(said('<think>Dice.</think>Rolling.'), call({ index: 0, function: d20 }), ...done)),
    );
    const reply = await stream({ tools });
    expectWholeStream(reply, 'Rolling.', 'tool_calls');
    expect(reasoningOf(reply)).toBe('Dice.');
    expect(callsOf(reply)).toMatchObject([d20]);
  });

  it.each([[[null]], [['x', 17]], ['x'], [{ index: 0 }], [[]]])(
    'are nothing when they are %j',
    async wrong => {
      const { upstream, stream } = await hostileSetting();
      upstream.reply(streamed(events(delta({ content: 'Hello', tool_calls: wrong }), ...done)));
      const reply = await stream({ tools });
      expect(contentOf(reply)).toBe('Hello');
      expect(reply.text).not.toContain('"tool_calls":[');
      expectWholeStream(reply, 'Hello', 'stop');
    },
  );
});

const reasonings: readonly { form: string; message: object }[] = [
  { form: 'reasoning', message: { reasoning: 'Greet.', content: 'Hi.' } },
  { form: 'reasoning_content', message: { reasoning_content: 'Greet.', content: 'Hi.' } },
  { form: 'both names', message: { reasoning: 'Greet.', reasoning_content: 'Greet.', content: 'Hi.' } },
  { form: 'one name and null', message: { reasoning: null, reasoning_content: 'Greet.', content: 'Hi.' } },
  { form: 'one name and nothing', message: { reasoning: '', reasoning_content: 'Greet.', content: 'Hi.' } },
  {
    form: 'reasoning_details',
    message: {
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'Gre' },
        { type: 'reasoning.encrypted', data: 'c2VjcmV0' },
        { type: 'reasoning.text', text: 'et.', signature: 'c2ln' },
      ],
      content: 'Hi.',
    },
  },
  {
    form: 'reasoning beside reasoning_details',
    message: {
      reasoning: 'Greet.',
      reasoning_details: [{ type: 'reasoning.text', text: 'Greet.' }],
      content: 'Hi.',
    },
  },
  {
    form: 'thinking parts',
    message: {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Greet.' }] },
        { type: 'text', text: 'Hi' },
        { type: 'text', text: '.' },
      ],
    },
  },
  {
    form: 'thinking parts of text',
    message: {
      content: [
        { type: 'thinking', thinking: 'Greet.' },
        { type: 'text', text: 'Hi.' },
      ],
    },
  },
  { form: 'tags', message: { content: '<think>Greet.</think>Hi.' } },
];

describe.each(reasonings)('reasoning as $form', ({ message }) => {
  it('is `reasoning` in a stream, and under no other name', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(delta({ role: 'assistant', content: '' }), delta(message), ...done)));
    const reply = await stream();
    expectWholeStream(reply, 'Hi.');
    expect(reasoningOf(reply)).toBe('Greet.');
    expect(reply.text).not.toMatch(/reasoning_content|reasoning_details|thinking|c2VjcmV0|c2ln/);
  });

  it('is `reasoning` in a whole reply, and under no other name', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(200, completion(null, message)));
    const reply = (await (await send(false)).json()) as ReturnType<typeof completion>;
    expect(reply.choices[0]?.message).toEqual({ role: 'assistant', content: 'Hi.', reasoning: 'Greet.' });
  });

  it('goes back between its tags for a client that does not want it apart', async () => {
    const { upstream, send, stream } = await hostileSetting();
    upstream.reply(whole(200, completion(null, message)));
    const reply = (await (await send(false, { reasoning_split: false })).json()) as ReturnType<
      typeof completion
    >;
    expect(reply.choices[0]?.message).toEqual({ role: 'assistant', content: '<think>Greet.</think>Hi.' });
    upstream.reply(streamed(events(delta(message), ...done)));
    expectWholeStream(await stream({ reasoning_split: false }), '<think>Greet.</think>Hi.');
  });
});

describe.each(bothWays)('a finish reason, $way', ({ stream: isStream }) => {
  const reasons: readonly [string, string][] = [
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'tool_calls'],
    ['content_filter', 'content_filter'],
    ['end_turn', 'stop'],
    ['eos', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['tool_use', 'tool_calls'],
    ['function_call', 'tool_calls'],
  ];

  it.each(reasons)('%s is %s', async (theirs, ours) => {
    const { upstream, stream, send } = await hostileSetting();
    if (isStream) {
      upstream.reply(streamed(events(said('Hi.'), finished(theirs), '[DONE]')));
      expectWholeStream(await stream(), 'Hi.', ours);
      return;
    }
    const message = { role: 'assistant', content: 'Hi.' };
    upstream.reply(
      whole(200, completion('', {}, { choices: [{ index: 0, message, finish_reason: theirs }] })),
    );
    expect(await (await send(false)).json()).toMatchObject({ choices: [{ finish_reason: ours }] });
  });

  it.each(['error', 'abort'])('%s is an error', async theirs => {
    const { upstream, send } = await hostileSetting();
    const message = { role: 'assistant', content: 'Hi.' };
    const reply = completion('', {}, { choices: [{ index: 0, message, finish_reason: theirs }] });
    upstream.reply(isStream ? streamed(events(finished(theirs), '[DONE]')) : whole(200, reply));
    await expectRefusal(await send(isStream), 502, 'provider_error');
  });
});

describe('the shape of a stream', () => {
  const shapes: readonly { form: string; parts: readonly object[] }[] = [
    {
      form: 'with the finish reason on the last text',
      parts: [said('Hel'), delta({ content: 'lo' }, 'stop')],
    },
    {
      form: 'with a role on every chunk',
      parts: ['Hel', 'lo'].map(content => delta({ role: 'assistant', content })).concat(finished()),
    },
    { form: 'without any role', parts: [said('Hel'), said('lo'), finished()] },
    {
      form: 'with null content',
      parts: [delta({ role: 'assistant', content: null }), said('Hello'), delta({ content: null }, 'stop')],
    },
    {
      form: 'with empty deltas',
      parts: [delta({}), said(''), said('Hel'), delta({}), said('lo'), delta({}), finished()],
    },
    { form: 'without deltas', parts: [said('Hello'), { choices: [{ index: 0, finish_reason: 'stop' }] }] },
    { form: 'with an empty finish reason meanwhile', parts: [delta({ content: 'Hello' }, ''), finished()] },
    {
      form: 'without index',
      parts: [
        { choices: [{ delta: { content: 'Hello' } }] },
        { choices: [{ delta: {}, finish_reason: 'stop' }] },
      ],
    },
    { form: 'with the finish reason twice', parts: [said('Hello'), finished(), finished()] },
    { form: 'with an empty delta after the finish', parts: [said('Hello'), finished(), delta({})] },
    {
      form: 'with empty text after the finish',
      parts: [said('Hello'), finished(), delta({ role: 'assistant', content: '' })],
    },
    { form: 'with text after the finish', parts: [said('Hel'), finished(), said('lo')] },
    {
      form: 'with objects that are no chunks',
      parts: [{}, { object: 'ping' }, said('Hello'), { choices: [] }, { choices: ['x', null] }, finished()],
    },
    {
      form: 'with unknown keys everywhere',
      parts: [
        delta({ content: 'Hello', audio: null, function_call: null }, null, { nvext: { worker: 'gpu-7' } }),
        finished(),
      ],
    },
  ];

  it.each(shapes)('$form is ours', async ({ parts }) => {
    const { upstream, stream } = await hostileSetting();
    for (const end of [[used(7, 3), '[DONE]'], ['[DONE]']]) {
      upstream.reply(streamed(events(...parts, ...end)));
      const reply = await stream();
      expectWholeStream(reply, 'Hello');
      expectNoTrace(reply.text, reply.headers, upstream);
      expect(reply.text).not.toContain('gpu-7');
    }
  });

  it('has no key of a prototype that an upstream sent', async () => {
    const { upstream, stream } = await hostileSetting();
    const trick =
      '{"choices":[{"index":0,"delta":{"content":"Hello","__proto__":{"polluted":1}},"__proto__":{"x":1}}]}';
    upstream.reply(streamed(events(trick, ...done)));
    expectWholeStream(await stream(), 'Hello');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('survives values that cannot be written again', async () => {
    const { upstream, stream } = await hostileSetting();
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const trick = `{"choices":[{"index":0,"delta":{"content":"!"},"logprobs":{"content":${deep}}}]}`;
    upstream.reply(streamed(events(said('Hello'), trick, ...done)));
    const reply = await stream();
    expect(reply.events.at(-1)?.data).toBe('[DONE]');
    expect(contentOf(reply)).toMatch(/^Hello!?$/);
  });
});

describe('two choices', () => {
  const n2 = { n: 2 };
  const text = (index: number, content: string, more: object = {}) => delta({ content }, null, more, index);
  const end = (index: number, more: object = {}) => delta({}, 'stop', more, index);

  it('end with one finish chunk each, and the usage on the last', async () => {
    const { upstream, stream } = await hostileSetting();
    const parts = [text(0, 'A'), text(1, 'B'), end(0), text(1, 'b'), end(1), used(7, 4), '[DONE]'];
    upstream.reply(streamed(events(...parts)));
    const reply = await stream(n2);
    expect([contentOf(reply, 0), contentOf(reply, 1)]).toEqual(['A', 'Bb']);
    const choices = reply.events.flatMap(({ json }) => json.choices ?? []);
    const roles = choices.filter(({ delta }) => delta.role).map(({ index }) => index);
    expect(roles.toSorted()).toEqual([0, 1]);
    const ends = choices.filter(({ finish_reason }) => finish_reason).map(({ index }) => index);
    expect(ends).toEqual([0, 1]);
    expect(reply.events.filter(({ json }) => json.usage).length).toBe(1);
    expect(reply.events.at(-2)?.json.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 4 });
  });

  it('are counted together though vLLM counts each for itself', async () => {
    const { upstream, stream } = await hostileSetting();
    const counted = (prompt: number, tokens: number) => ({
      usage: { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens },
    });
    const parts = [
      text(0, 'A', counted(7, 1)),
      text(1, 'B', counted(7, 1)),
      text(0, 'a', counted(7, 2)),
      text(1, 'b', counted(7, 2)),
      end(0, counted(7, 3)),
      end(1, counted(7, 3)),
      used(7, 6),
      '[DONE]',
    ];
    upstream.reply(streamed(events(...parts)));
    const reply = await stream({ ...n2, stream_options: { continuous_usage_stats: true } });
    const counts = reply.events.slice(0, -1).map(({ json }) => json.usage?.completion_tokens ?? Number.NaN);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts[0]).toBe(0);
    expect(counts).toEqual(expect.arrayContaining([2, 3, 4]));
    expect(counts.at(-1)).toBe(6);
  });

  it('are not added up where the server counts them together', async () => {
    const { upstream, stream } = await hostileSetting({ adapter: 'openai' });
    const usage = { prompt_tokens: 7, completion_tokens: 4 };
    upstream.reply(
      streamed(events(text(0, 'A'), text(1, 'B'), end(0, { usage }), end(1, { usage }), '[DONE]')),
    );
    const reply = await stream(n2);
    expect(reply.events.at(-2)?.json.usage).toMatchObject({ ...usage, total_tokens: 11 });
  });

  it('may come in one chunk', async () => {
    const { upstream, stream } = await hostileSetting();
    const both = (...choices: object[]) => ({ choices });
    upstream.reply(
      streamed(
        events(
          both({ index: 0, delta: { content: 'A' } }, { index: 1, delta: { content: 'B' } }),
          both(
            { index: 0, delta: {}, finish_reason: 'stop' },
            { index: 1, delta: {}, finish_reason: 'length' },
          ),
          '[DONE]',
        ),
      ),
    );
    const reply = await stream(n2);
    expect([contentOf(reply, 0), contentOf(reply, 1)]).toEqual(['A', 'B']);
    expect(reply.events.at(-2)?.json).toMatchObject({ choices: [{ index: 1, finish_reason: 'length' }] });
    expect(reply.events.at(-2)?.json.usage).toBeDefined();
  });
});
