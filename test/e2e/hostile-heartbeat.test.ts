import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ask } from '../support/gateway-under-test.ts';
import {
  closeHealthy,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
} from '../support/hostile-setting.ts';
import { chunk, events, lastChunk, streamHead } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeHealthy);

const keepAlive = ': keep-alive\n\n';

describe('the heartbeat of a stream', () => {
  const beating = { server: { stream_commit_ms: 100, keepalive_ms: 100 } };

  it('continues while the upstream is silent, before and during its reply', async () => {
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

  it('is independent of upstream comments, which are dropped', async () => {
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

  it('can be turned off', async () => {
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
  it.each(['identity', 'gzip'])('is forwarded chunk by chunk in %s', async encoding => {
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
