import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventsOf } from '../support/gateway-under-test.ts';
import {
  closeHealthy,
  completion,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
} from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  type Script,
  streamed,
  streamHead,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const keepAlive = ': keep-alive\n\n';

/** The HTTP client's timers are coarse: a second asked may be two. */
const impatient = { provider: { idle_timeout_ms: 1000 } };

describe('the status of a stream', () => {
  const soon = { server: { stream_commit_ms: 50 } };
  const late =
    (script: Buffer | string): Script =>
    async socket => {
      await sleep(300);
      socket.write(script);
    };

  it('waits for the first event, not for the headers', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(async socket => {
      socket.write(streamHead());
      socket.write(chunk(': waiting\n\n'));
      await sleep(300);
      socket.write(chunk(events({ error: { message: 'x' } })));
    });
    await expectRefusal(await send(true), 502, 'provider_error');
  });

  it('is that of a late error while nothing has been sent', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(late(whole(429, { error: { message: 'x' } }, { 'retry-after': '9' })));
    const response = await send(true);
    expect(response.headers.get('retry-after')).toBe('9');
    await expectRefusal(response, 502, 'provider_error');
  });

  it('is 200 after stream_commit_ms, with a heartbeat comment at once', async () => {
    const { upstream, send } = await hostileSetting(soon);
    let release: (() => void) | undefined;
    upstream.reply(async socket => {
      await new Promise<void>(resolve => (release = resolve));
      socket.write(streamed(events(said('Hello'), finished(), '[DONE]')));
    });
    const response = await send(true);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    // The upstream has not said a byte yet.
    expect(decoder.decode((await reader.read()).value)).toBe(keepAlive);
    release?.();
    let text = '';
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += decoder.decode(part.value);
    const [role, hello, finish, done] = eventsOf(text);
    expect(role?.json.choices?.[0]?.delta.role).toBe('assistant');
    expect(hello?.json.choices?.[0]?.delta.content).toBe('Hello');
    expect(finish?.json.choices?.[0]?.finish_reason).toBe('stop');
    expect(done?.data).toBe('[DONE]');
  });

  const failures: readonly { name: string; script: Script; type: string }[] = [
    { name: 'a 500', script: late(whole(500, { error: 'gpu-7' })), type: 'provider_error' },
    { name: 'a 429', script: late(whole(429, { error: 'gpu-7' })), type: 'provider_error' },
    { name: 'a 400', script: late(whole(400, { error: 'bad words' })), type: 'invalid_request_error' },
    { name: 'a 404', script: late(whole(404, { error: 'gpu-7' })), type: 'configuration_error' },
    {
      name: 'an HTML page',
      script: late(whole(200, '<p>gpu-7', { 'content-type': 'text/html' })),
      type: 'provider_error',
    },
    { name: 'garbage', script: late(streamed('data: gpu-7\n\n')), type: 'provider_error' },
    { name: 'an error event', script: late(streamed(events({ error: 'gpu-7' }))), type: 'provider_error' },
    { name: 'an empty stream', script: late(streamed('')), type: 'provider_error' },
    {
      name: 'a reset',
      script: async (socket, request) => {
        await sleep(300);
        const reset = thenReset();
        if (typeof reset === 'function') await reset(socket, request);
      },
      type: 'provider_error',
    },
  ];

  it.each(failures)(
    'is 200 when $name follows stream_commit_ms, and the failure becomes an error event',
    async ({ script, type }) => {
      const { upstream, stream } = await hostileSetting(soon);
      upstream.reply(script);
      const reply = await stream();
      expectBrokenStream(reply, '', type);
      expect(reply.text.startsWith(keepAlive)).toBe(true);
      expect(reply.events.length).toBe(2);
      expect(reply.text).not.toContain('gpu-7');
      expect(reply.headers.get('retry-after')).toBeNull();
    },
  );

  it('is 200 when a plain reply follows stream_commit_ms', async () => {
    const { upstream, stream } = await hostileSetting(soon);
    upstream.reply(late(whole(200, completion('Hello.'))));
    const reply = await stream();
    expectWholeStream(reply, 'Hello.');
    expect(reply.text.startsWith(keepAlive)).toBe(true);
  });

  it('is 200 when the upstream stays silent past stream_commit_ms', async () => {
    const { upstream, stream } = await hostileSetting({ ...soon, ...impatient });
    upstream.reply(() => {});
    expectBrokenStream(await stream(), '', 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });
});
