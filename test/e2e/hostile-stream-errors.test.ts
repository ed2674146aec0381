import { afterEach, describe, expect, it } from '@jest/globals';
import {
  closeHealthy,
  contentOf,
  delta,
  expectBrokenStream,
  expectNoTrace,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  reasoningOf,
  said,
  used,
} from '../support/hostile-setting.ts';
import { chunk, events, streamed, streamHead, thenReset } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

/** How servers say in a stream that they failed, as bytes. */
const forms = [
  { form: 'an error object', text: events({ error: { message: 'gpu-7 is on fire', type: 'x', code: 500 } }) },
  { form: 'an error text', text: events({ error: 'gpu-7 is on fire' }) },
  { form: 'old vLLM', text: events({ object: 'error', message: 'gpu-7 is on fire', code: 400 }) },
  { form: 'event: error with JSON', text: 'event: error\ndata: {"message":"gpu-7 is on fire"}\n\n' },
  { form: 'event: error with words', text: 'event: error\ndata: gpu-7 is on fire\n\n' },
  { form: 'event: error after its data', text: 'data: {"choices":[]}\nevent: error\n\n' },
  {
    form: 'a chunk with an error key',
    text: events(delta({ content: '' }, null, { error: { message: 'gpu-7' } })),
  },
  {
    form: 'OpenRouter',
    text: events(
      delta({ content: '' }, 'error', { error: { code: 502, message: 'gpu-7' }, provider: 'gpu-7' }),
    ),
  },
  { form: 'finish_reason error', text: events(delta({}, 'error')) },
  { form: 'finish_reason abort', text: events(delta({}, 'abort')) },
  {
    form: 'Anthropic',
    text: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"gpu-7"}}\n\n',
  },
  {
    form: 'Anthropic without event line',
    text: events({ type: 'error', error: { type: 'overloaded_error', message: 'gpu-7' } }),
  },
  {
    form: 'old llama.cpp',
    text: 'error: {"code":500,"message":"gpu-7 is on fire","type":"server_error"}\n\n',
  },
];

const garbage = [
  { form: 'JSON that breaks off', text: 'data: {"choices":[{"index":0,"delta":{"con\n\n' },
  { form: 'words', text: 'data: gpu-7 says hello\n\n' },
  { form: 'a Python object', text: "data: {'choices': [{'index': 0}]}\n\n" },
  { form: 'two objects in one line', text: 'data: {"choices":[]}{"choices":[]}\n\n' },
  { form: 'two objects in two lines', text: 'data: {"choices":[]}\ndata: {"choices":[]}\n\n' },
  { form: 'null', text: 'data: null\n\n' },
  { form: 'a number', text: 'data: 17\n\n' },
  { form: 'a list', text: 'data: [{"choices":[]}]\n\n' },
  { form: 'a text', text: 'data: "gpu-7"\n\n' },
];

const all = [
  ...forms.map(form => ({ ...form, kind: 'error' })),
  ...garbage.map(form => ({ ...form, kind: 'garbage' })),
];

describe.each(all)('$kind in a stream: $form', ({ kind, text }) => {
  const words = kind === 'garbage' ? 'The upstream provider returned an invalid response.' : undefined;

  it('causes a 502 when it comes first', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(streamed(text));
    const message = await expectRefusal(await send(true), 502, 'provider_error', words);
    expect(message).not.toContain('gpu-7');
  });

  it('becomes an error event after the text and before [DONE]', async () => {
    const { upstream, stream, gateway } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello'), said(' there')) + text));
    const reply = await stream();
    expectBrokenStream(reply, 'Hello there', 'provider_error', words);
    expect(reply.text).not.toContain('gpu-7');
    expectNoTrace(reply.text, reply.headers, upstream);
    const ended = { end_reason: 'upstream_failed', error_type: 'provider_error', status: '200' };
    expect(await gateway.metric('sluice_requests_total', ended)).toBe(1);
  });

  it('ends the stream: nothing after it is sent and the upstream is disconnected', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(socket => {
      socket.write(streamHead());
      socket.write(chunk(events(said('Hello')) + text + events(said(' again'), finished(), '[DONE]')));
    });
    expectBrokenStream(await stream(), 'Hello', 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });
});

describe('an error in a stream', () => {
  const failing = events({ error: { message: 'gpu-7' } });

  it('is not shown after the finish reason of every choice: the answer is whole', async () => {
    const { upstream, stream, gateway } = await hostileSetting();
    for (const { text } of all) {
      upstream.reply(streamed(events(said('Hello'), finished()) + text));
      expectWholeStream(await stream(), 'Hello');
    }
    upstream.reply(thenReset(streamHead(), chunk(events(said('Hello'), finished(), used(7, 3)) + failing)));
    const counted = expectWholeStream(await stream(), 'Hello').at(-1)?.json.usage;
    expect(counted).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
    const provider = { sluice_provider: 'upstream' };
    expect(await gateway.metric('sluice_late_upstream_errors_total', provider)).toBe(all.length + 1);
    expect(await gateway.metric('sluice_requests_total', { end_reason: 'completed' })).toBe(all.length + 1);
  });

  it('is not shown after the end of every choice on /v1/responses either', async () => {
    const { upstream, gateway } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello'), finished()) + failing));
    const ask = { model: 'aion-labs/aion-3.5', input: 'Hello?', stream: true };
    const text = await (await gateway.post(ask, { path: '/v1/responses' })).text();
    expect(text).toContain('event: response.completed\n');
    expect(text).not.toMatch(/event: (error|response.failed)/);
  });

  it('is shown while one of two choices has not ended', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello'), finished()) + failing));
    expectBrokenStream(await stream({ n: 2 }), 'Hello', 'provider_error');
  });

  it('loses no text that was buffered to detect a tag', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('<think>Greet'), said('</thi')) + failing));
    const reply = await stream();
    expect(reasoningOf(reply)).toBe('Greet</thi');
    expectBrokenStream(reply, '', 'provider_error');
  });

  it('is reported after the reasoning', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(delta({ reasoning: 'Hm.' })) + failing));
    const reply = await stream();
    expect(reasoningOf(reply)).toBe('Hm.');
    expectBrokenStream(reply, '', 'provider_error');
  });

  it('is reported without usage after chunks with usage', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello')) + failing));
    const reply = await stream({ stream_options: { continuous_usage_stats: true } });
    expectBrokenStream(reply, 'Hello', 'provider_error');
    for (const { json } of reply.events.slice(0, -2)) expect(json.usage).toBeDefined();
  });

  it('is not detected in text that only mentions one', async () => {
    const { upstream, stream } = await hostileSetting();
    const text = 'event: error\ndata: {"error":{"message":"x"}}\n\ndata: [DONE]\n\n';
    upstream.reply(streamed(events(said(text), finished(), '[DONE]')));
    const reply = await stream();
    expect(contentOf(reply)).toBe(text);
    expect(reply.events.at(-2)?.json.choices?.[0]?.finish_reason).toBe('stop');
  });

  it('is not detected in an error field that is null', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(
      streamed(events(delta({ content: 'Hello' }, null, { error: null }), finished(), '[DONE]')),
    );
    expect((await stream()).events.at(-2)?.json.choices?.[0]?.finish_reason).toBe('stop');
  });
});
