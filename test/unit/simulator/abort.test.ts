import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../../support/until.ts';
import { ask, closeAll, openRequest, simulate } from './client.ts';

afterEach(closeAll);

describe('a client that disconnects', () => {
  it.each([
    ['a slow stream', { stream: true }, '[[sim:tps=50 tokens=endless]]'],
    ['a stream as fast as it can be read', { stream: true }, '[[sim:tokens=endless]]'],
    ['a stream before its first token', { stream: true }, '[[sim:ttft=60000]]'],
  ])('stops %s', async (_, more, content) => {
    const simulator = await simulate();
    const socket = openRequest(simulator, ask(content, more));
    await new Promise(resolve => socket.once('data', resolve));
    expect(simulator.stats).toMatchObject({ open: 1, aborted: 0 });
    socket.destroy();
    await until(() => simulator.stats.open === 0);
    expect(simulator.stats).toMatchObject({ requests: 1, aborted: 1, completed: 0 });
  });

  it.each(['[[sim:ttft=60000]]', '[[sim:tokens=endless]]'])(
    'stops a plain completion with %s',
    async content => {
      const simulator = await simulate();
      const socket = openRequest(simulator, ask(content));
      await until(() => simulator.requests.length === 1);
      socket.destroy();
      await until(() => simulator.stats.aborted === 1);
      expect(simulator.stats.open).toBe(0);
    },
  );

  it('is counted as aborted in the middle of its own request', async () => {
    const simulator = await simulate();
    const socket = connect(simulator.port, '127.0.0.1');
    socket.write(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: simulator\r\ncontent-length: 1000\r\n\r\n{"mess',
    );
    await until(() => simulator.stats.open === 1);
    socket.destroy();
    await until(() => simulator.stats.aborted === 1);
    expect(simulator.stats).toMatchObject({ requests: 1, open: 0 });
    expect(simulator.requests).toHaveLength(0);
  });
});

describe('the close method of the simulator', () => {
  it('ends every connection and can be called twice', async () => {
    const simulator = await simulate();
    const socket = openRequest(simulator, ask('[[sim:tps=1]]', { stream: true }));
    const closed = new Promise(resolve => socket.once('close', resolve));
    socket.on('error', () => undefined).resume();
    await until(() => simulator.stats.open === 1);
    await simulator.close();
    await simulator.close();
    await closed;
    await expect(fetch(`${simulator.url}/models`)).rejects.toThrow();
  });
});
