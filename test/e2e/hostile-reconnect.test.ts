import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  closeHealthy,
  completion,
  expectRefusal,
  expectWholeStream,
  finished,
  hostileSetting,
  said,
} from '../support/hostile-setting.ts';
import { chunk, events, streamHead, thenClose, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeHealthy);

describe('an upstream connection', () => {
  it('is reused after a whole stream', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(
      Buffer.concat([
        Buffer.from(streamHead()),
        chunk(events(said('Hello.'), finished(), '[DONE]')),
        Buffer.from('0\r\n\r\n'),
      ]),
    );
    for (let time = 0; time < 3; time++) expectWholeStream(await stream(), 'Hello.');
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([0, 0, 0]);
  });

  it('is reused after an error status', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(500, { error: 'x' }));
    for (let time = 0; time < 3; time++) await expectRefusal(await send(false), 502, 'provider_error');
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([0, 0, 0]);
  });

  it('is reopened after the upstream closed it between two requests', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(thenClose(whole(200, completion('Hello.'))));
    for (let time = 0; time < 3; time++) {
      expect((await send(false)).status).toBe(200);
      await upstream.last.closed;
      await sleep(50);
    }
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([0, 1, 2]);
  });

  it('is closed when the upstream continues after [DONE], without delaying the client', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(socket => {
      socket.write(streamHead());
      socket.write(chunk(events(said('Hello.'), finished(), '[DONE]', said('never'), '[DONE]')));
    });
    expectWholeStream(await stream(), 'Hello.');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('is closed when the upstream floods it after [DONE]', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(socket => {
      socket.write(streamHead());
      socket.write(chunk(events(said('Hello.'), finished(), '[DONE]')));
      const flood = setInterval(() => socket.write(chunk('x'.repeat(100_000))), 1);
      socket.on('close', () => clearInterval(flood));
    });
    expectWholeStream(await stream(), 'Hello.');
    await until(() => upstream.last.isClosed);
  });
});
