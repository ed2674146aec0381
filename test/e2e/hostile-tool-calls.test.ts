import { afterEach, describe, expect, it } from '@jest/globals';
import type { ToolCallDelta } from '../../src/canonical.ts';
import type { ClientStream } from '../support/gateway-under-test.ts';
import {
  closeHealthy,
  completion,
  contentOf,
  delta,
  expectWholeStream,
  finished,
  hostileSetting,
  reasoningOf,
  said,
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
    // The first delta of a call says what it is, and indexes have no gaps.
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

  it.each(streams)('are complete: $form', async ({ parts, ids }) => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(...parts, ...done)));
    const reply = await stream({ tools });
    // The upstream said `stop`; whoever reads tool calls looks for the other reason.
    expectWholeStream(reply, '', 'tool_calls');
    const calls = callsOf(reply);
    expect(calls.map(({ id, ...called }) => called)).toEqual([d20, d6]);
    if (ids) expect(calls.map(({ id }) => id)).toEqual(ids);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  it('receive unique ids when the upstream sends none', async () => {
    const { upstream, stream, send } = await hostileSetting();
    upstream.reply(streamed(events(call({ function: d20 }), ...done)));
    const ids = [callsOf(await stream({ tools }))[0]?.id, callsOf(await stream({ tools }))[0]?.id];
    upstream.reply(whole(200, completion(null, { tool_calls: [{ function: d20 }] })));
    const { choices } = (await (await send(false, { tools })).json()) as {
      choices: [{ message: { tool_calls: [{ id: string }] } }];
    };
    ids.push(choices[0].message.tool_calls[0].id);
    // A client puts the calls of all its turns into one conversation.
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toEqual(expect.stringMatching(/./));
  });

  it('follow the text that came before them', async () => {
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
    'are ignored when they are %j',
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
