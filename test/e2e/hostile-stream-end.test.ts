import { afterEach, describe, expect, it } from '@jest/globals';
import {
  closeHealthy,
  contentOf,
  delta,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
  used,
} from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  head,
  pieces,
  streamed,
  streamHead,
  thenClose,
} from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const brokeOff = 'The upstream provider closed the stream unexpectedly.';

describe('a stream without [DONE]', () => {
  it('is complete when its finish reason has arrived', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello'), finished('length'), used(7, 3))));
    const chunks = expectWholeStream(await stream(), 'Hello', 'length');
    expect(chunks.at(-1)?.json.usage).toMatchObject({
      prompt_tokens: 7,
      completion_tokens: 3,
      total_tokens: 10,
    });
  });

  it('is complete when its last event lacks the blank line', async () => {
    const { upstream, stream } = await hostileSetting();
    for (const rest of ['\n\n', '\n', '\r\n', '']) {
      const text = events(said('Hello'), finished(), used(7, 3)).trimEnd() + rest;
      upstream.reply(streamed(text));
      const chunks = expectWholeStream(await stream(), 'Hello');
      expect(chunks.at(-1)?.json.usage?.completion_tokens).toBe(3);
    }
  });

  it('is broken without a finish reason', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello'), used(7, 3))));
    expectBrokenStream(await stream(), 'Hello', 'provider_error', brokeOff);
  });

  it('is broken within its last event', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(`${events(said('Hello'))}data: {"choices":[{"index":0,"delta":{},"finish_rea`));
    expectBrokenStream(await stream(), 'Hello', 'provider_error');
  });

  it('is broken when one of two choices is open', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello'), delta({ content: 'Hi' }, null, {}, 1), finished())));
    const reply = await stream({ n: 2 });
    expect(reply.events.at(-2)?.json).toEqual({ error: { message: brokeOff, type: 'provider_error' } });
    expect([contentOf(reply), contentOf(reply, 1)]).toEqual(['Hello', 'Hi']);
  });

  it('is complete when the connection close ends it', async () => {
    const { upstream, stream } = await hostileSetting();
    const start = head(200, { 'content-type': 'text/event-stream' });
    upstream.reply(thenClose(start, events(said('Hello'), finished())));
    expectWholeStream(await stream(), 'Hello');
  });
});

describe('a stream with [DONE]', () => {
  it('is broken without a finish reason, which is never invented', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('Hello'), '[DONE]')));
    expectBrokenStream(await stream(), 'Hello', 'provider_error', brokeOff);
  });

  it.each(['data: [DONE]\n\n', 'data:[DONE]\n\n', 'data:  [DONE] \n\n', 'data: [DONE]\n', 'data: [DONE]'])(
    'is complete when it is spelled %j',
    async done => {
      const { upstream, stream } = await hostileSetting();
      upstream.reply(streamed(events(said('Hello'), finished()) + done));
      expectWholeStream(await stream(), 'Hello');
    },
  );

  it('ends there, even when the connection stays open', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(pieces([streamHead(), chunk(events(said('Hello'), finished(), '[DONE]'))]));
    expectWholeStream(await stream(), 'Hello');
    // It is given up later; the client waits for none of that.
    expect(upstream.last.isClosed).toBe(false);
  });
});

describe('a stream without text', () => {
  it.each([
    { name: 'nothing', text: '' },
    { name: '[DONE] alone', text: 'data: [DONE]\n\n' },
    { name: 'comments', text: ': one\n\n: two\n\n' },
    { name: 'usage alone', text: events(used(7, 0), '[DONE]') },
    { name: 'objects that say nothing', text: events({}, { choices: [] }, { choices: null }, '[DONE]') },
    { name: 'events without data', text: 'event: message\n\nid: 7\n\ndata:\n\ndata\n\ndata: \n\n' },
    { name: 'JSON without data field', text: '{"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n' },
  ])('causes a 502 when it consists of $name', async ({ text }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(streamed(text));
    await expectRefusal(await send(true), 502, 'provider_error');
  });

  it('is an empty answer when it has a finish reason', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(finished(), '[DONE]')));
    expectWholeStream(await stream(), '');
  });

  it('causes a 502 when it is an HTML page', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(streamed('<!doctype html><p>Login to gpu-7</p>', { 'content-type': 'text/html' }));
    const words = 'The upstream provider returned an invalid response.';
    await expectRefusal(await send(true), 502, 'provider_error', words);
  });
});
