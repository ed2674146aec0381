import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import {
  bothWays,
  closeHealthy,
  completion,
  expectBrokenStream,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
  until,
} from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  head,
  lastChunk,
  type Script,
  streamed,
  streamHead,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const brokeOff = 'The upstream provider closed the stream unexpectedly.';
const keepAlive = ': keep-alive\n\n';

/** The HTTP client's timers are coarse: a second asked may be two. */
const impatient = { provider: { idle_timeout_ms: 1000 } };

describe('an upstream that falls silent', () => {
  it.each(bothWays)('before its headers: a true 502, $way', async ({ stream }) => {
    const { upstream, send, gateway } = await hostileSetting(impatient);
    upstream.reply(() => {});
    await expectRefusal(await send(stream), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
    expect(await gateway.metric('sluice_upstream_errors_total', { kind: 'timeout' })).toBe(1);
  });

  it('within its headers: a true 502', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply('HTTP/1.1 200 OK\r\ncontent-type: text/ev');
    await expectRefusal(await send(true), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('within a whole reply: a 502', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply(`${head(200, { 'content-type': 'application/json', 'content-length': 500 })}{"choices":[`);
    await expectRefusal(await send(false), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('before its first event: a true 502', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply(streamHead());
    await expectRefusal(await send(true), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('within an error body: its status counts', async () => {
    const { upstream, send } = await hostileSetting(impatient);
    upstream.reply(`${head(404, { 'content-type': 'application/json', 'content-length': 500 })}{"error":`);
    await expectRefusal(await send(true), 400, 'configuration_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('in the middle of its stream: its text, an error event, [DONE]', async () => {
    const { upstream, stream, gateway } = await hostileSetting(impatient);
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(events(said('Hello'), said(' there')))]));
    expectBrokenStream(await stream(), 'Hello there', 'provider_error', brokeOff);
    expect(await upstream.last.closed).toBe('gateway');
    expect(await gateway.metric('sluice_upstream_errors_total', { kind: 'timeout' })).toBe(1);
  });

  it('in the middle of an event: its text, an error event, [DONE]', async () => {
    const { upstream, stream } = await hostileSetting(impatient);
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(`${events(said('Hello'))}data: {"cho`)]));
    expectBrokenStream(await stream(), 'Hello', 'provider_error', brokeOff);
  });

  it('when every choice has ended and only [DONE] is missing: nothing is missing', async () => {
    const { upstream, stream } = await hostileSetting(impatient);
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(events(said('Hello'), finished()))]));
    expectWholeStream(await stream(), 'Hello');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('never for as long as allowed: no failure', async () => {
    const { upstream, stream } = await hostileSetting({ provider: { idle_timeout_ms: 1500 } });
    upstream.reply(async socket => {
      socket.write(streamHead());
      for (let time = 0; time < 8; time++) {
        socket.write(chunk(events(said('.'))));
        await sleep(350);
      }
      socket.write(Buffer.concat([chunk(events(finished(), '[DONE]')), Buffer.from(lastChunk)]));
    });
    expectWholeStream(await stream(), '........');
  });
});

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

  it('is that of an error as long as nothing has been sent', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(late(whole(429, { error: { message: 'x' } }, { 'retry-after': '9' })));
    const response = await send(true);
    expect(response.headers.get('retry-after')).toBe('9');
    await expectRefusal(response, 502, 'provider_error');
  });

  it('is 200 after a while, with a comment at once', async () => {
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
    'is 200 before $name comes late, which is an error event then',
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

  it('is 200 before a plain reply comes late', async () => {
    const { upstream, stream } = await hostileSetting(soon);
    upstream.reply(late(whole(200, completion('Hello.'))));
    const reply = await stream();
    expectWholeStream(reply, 'Hello.');
    expect(reply.text.startsWith(keepAlive)).toBe(true);
  });

  it('is 200 before silence without end', async () => {
    const { upstream, stream } = await hostileSetting({ ...soon, ...impatient });
    upstream.reply(() => {});
    expectBrokenStream(await stream(), '', 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });
});

describe('the heartbeat of a stream', () => {
  const beating = { server: { stream_commit_ms: 100, keepalive_ms: 100 } };

  it('goes on while the upstream says nothing, before and in its reply', async () => {
    const { upstream, stream } = await hostileSetting(beating);
    upstream.reply(async socket => {
      await sleep(700);
      socket.write(streamHead());
      socket.write(chunk(events(said('Hello'))));
      await sleep(700);
      socket.write(Buffer.concat([chunk(events(finished(), '[DONE]')), Buffer.from(lastChunk)]));
    });
    const reply = await stream();
    expectWholeStream(reply, 'Hello');
    const [before = '', after = ''] = reply.text.split('"content":"Hello"');
    // Six were due each time; a busy machine may skip some.
    for (const text of [before, after]) expect(text.split(keepAlive).length - 1).toBeGreaterThanOrEqual(2);
  });

  it('is not moved by comments of the upstream, which are not passed on', async () => {
    const { upstream, stream } = await hostileSetting(beating);
    upstream.reply(async socket => {
      socket.write(streamHead());
      for (let time = 0; time < 14; time++) {
        socket.write(chunk(': gpu-7 is working\n\n'));
        await sleep(50);
      }
      socket.write(
        Buffer.concat([chunk(events(said('Hello'), finished(), '[DONE]')), Buffer.from(lastChunk)]),
      );
    });
    const reply = await stream();
    expectWholeStream(reply, 'Hello');
    expect(reply.text).toContain(keepAlive);
    expect(reply.text).not.toContain('gpu-7');
  });

  it('can be left out', async () => {
    const { upstream, stream } = await hostileSetting({ server: { keepalive_ms: 0 } });
    upstream.reply(async socket => {
      socket.write(streamHead());
      socket.write(chunk(events(said('Hello'))));
      // A timer of no time would beat all the while.
      await sleep(300);
      socket.write(Buffer.concat([chunk(events(finished(), '[DONE]')), Buffer.from(lastChunk)]));
    });
    const reply = await stream();
    expectWholeStream(reply, 'Hello');
    expect(reply.text).not.toContain(keepAlive);
  });
});

describe('a slow stream', () => {
  it.each(['identity', 'gzip'])('is handed on as it comes, in %s', async encoding => {
    const { upstream, gateway } = await hostileSetting();
    let release: (() => void) | undefined;
    const first = events(said('Hello'));
    const rest = events(said(' there'), finished(), '[DONE]');
    // Two members of one gzip file are one text.
    const packed = (text: string) => (encoding === 'gzip' ? gzipSync(text) : text);
    upstream.reply(async socket => {
      socket.write(streamHead({ 'content-encoding': encoding }));
      socket.write(chunk(packed(first)));
      await new Promise<void>(resolve => (release = resolve));
      socket.write(Buffer.concat([chunk(packed(rest)), Buffer.from(lastChunk)]));
    });
    const response = await gateway.post(ask('Hello?', { stream: true }));
    const reader = response.body!.getReader();
    let text = '';
    while (!text.includes('"content":"Hello"')) text += new TextDecoder().decode((await reader.read()).value);
    expect(text).not.toContain('there');
    await until(() => release !== undefined);
    release?.();
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += new TextDecoder().decode(part.value);
    expect(text).toContain('"content":" there"');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});
