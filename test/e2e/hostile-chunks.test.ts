import { afterEach, describe, expect, it } from '@jest/globals';
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
  said,
  used,
} from '../support/hostile-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const done = [finished(), '[DONE]'];

describe.each(bothWays)('the finish reason of an upstream ($way)', ({ stream: isStream }) => {
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

  it.each(reasons)('%s becomes %s', async (theirs, ours) => {
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

  it.each(['error', 'abort'])('%s becomes an error', async theirs => {
    const { upstream, send } = await hostileSetting();
    const message = { role: 'assistant', content: 'Hi.' };
    const reply = completion('', {}, { choices: [{ index: 0, message, finish_reason: theirs }] });
    upstream.reply(isStream ? streamed(events(finished(theirs), '[DONE]')) : whole(200, reply));
    await expectRefusal(await send(isStream), 502, 'provider_error');
  });
});

describe('the normalization of a stream', () => {
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

  it.each(shapes)('accepts a stream $form', async ({ parts }) => {
    const { upstream, stream } = await hostileSetting();
    for (const end of [[used(7, 3), '[DONE]'], ['[DONE]']]) {
      upstream.reply(streamed(events(...parts, ...end)));
      const reply = await stream();
      expectWholeStream(reply, 'Hello');
      expectNoTrace(reply.text, reply.headers, upstream);
      expect(reply.text).not.toContain('gpu-7');
    }
  });

  it('drops prototype keys sent by an upstream', async () => {
    const { upstream, stream } = await hostileSetting();
    const trick =
      '{"choices":[{"index":0,"delta":{"content":"Hello","__proto__":{"polluted":1}},"__proto__":{"x":1}}]}';
    upstream.reply(streamed(events(trick, ...done)));
    expectWholeStream(await stream(), 'Hello');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('survives a value nested too deeply to serialize', async () => {
    const { upstream, stream } = await hostileSetting();
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const trick = `{"choices":[{"index":0,"delta":{"content":"!"},"logprobs":{"content":${deep}}}]}`;
    upstream.reply(streamed(events(said('Hello'), trick, ...done)));
    const reply = await stream();
    expect(reply.events.at(-1)?.data).toBe('[DONE]');
    expect(contentOf(reply)).toMatch(/^Hello!?$/);
  });
});
