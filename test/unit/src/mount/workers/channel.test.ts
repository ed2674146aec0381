import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Channel, ChannelUnavailable, RemoteError } from '../../../../../src/mount/workers/channel.ts';
import { until } from '../../../../support/until.ts';

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Two ends of a channel in this thread, with the messages that the first one sends. */
function pair(limits: { max_waiting?: number } = {}) {
  const { port1, port2 } = new MessageChannel();
  const messages: unknown[] = [];
  port2.on('message', message => messages.push(message));
  const ends = { one: new Channel(port1, limits), other: new Channel(port2), port1, port2, messages };
  closing.push(() => port1.close());
  return ends;
}

/** A process whose end of the channel answers as its `program` says. */
function forked(program: string) {
  const { href } = new URL('../../../../../src/mount/workers/channel.ts', import.meta.url);
  const text = `import { Channel } from '${href}';\nconst channel = new Channel(process);\n${program}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', text], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  closing.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return { child, channel: new Channel(child) };
}

describe('a channel between two ends', () => {
  it('answers requests with what the handler returns or resolves to', async () => {
    const { one, other } = pair();
    other.handle('double', value => 2 * (value as number)).handle('later', async value => [value]);
    expect(await Promise.all([one.request('double', 21), one.request('later', 7n)])).toEqual([42, [7n]]);
    expect(one.waiting).toBe(0);
  });

  it('is used in both directions at once', async () => {
    const { one, other } = pair();
    one.handle('name', () => 'one');
    other.handle('ask', () => other.request('name'));
    expect(await one.request('ask')).toBe('one');
  });

  it('sends everything of one turn in one message, in its order', async () => {
    const { one, other, messages } = pair();
    const heard: unknown[] = [];
    other.handle('note', value => void heard.push(value)).handle('ask', value => heard.push(value));
    expect(one.notify('note', 1)).toBe(true);
    const asked = one.request('ask', 2);
    one.notify('note', 3);
    await asked;
    expect(heard).toEqual([1, 2, 3]);
    expect(messages).toHaveLength(1);
  });

  it('carries the name, message and codes of an error', async () => {
    const { one, other } = pair();
    other.handle('fail', () => {
      throw Object.assign(new RangeError('too far', { cause: { code: 'ECAUSE' } }), { code: 'EFAR' });
    });
    const error = await one.request('fail').catch((error: unknown) => error);
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({
      name: 'RangeError',
      message: 'too far',
      code: 'EFAR',
      cause: { code: 'ECAUSE' },
    });
  });

  it('carries the rejection of a handler, also of what is no error', async () => {
    const { one, other } = pair();
    other.handle('fail', () => Promise.reject('no'));
    await expect(one.request('fail')).rejects.toMatchObject({ name: 'Error', message: 'no' });
  });

  it('refuses names that nobody handles', async () => {
    const { one, other } = pair();
    expect(other.isOpen).toBe(true);
    await expect(one.request('nothing')).rejects.toThrow('does not answer nothing');
  });

  it('refuses a value that cannot be cloned, and sends all others of that turn', async () => {
    const { one, other } = pair();
    other.handle('same', value => value).handle('function', () => () => {});
    other.handle('later', async () => () => {});
    const asked = [
      one.request('same', 1),
      one.request('same', () => {}),
      one.request('function'),
      one.request('later'),
    ];
    expect(() => one.notify('same', () => {})).toThrow('could not be cloned');
    const refused = {
      status: 'rejected',
      reason: { message: expect.stringContaining('could not be cloned') },
    };
    expect(await Promise.allSettled(asked)).toMatchObject([
      { status: 'fulfilled', value: 1 },
      refused,
      refused,
      refused,
    ]);
    expect(one.waiting).toBe(0);
  });

  it('hands over every value that can be cloned as it is', async () => {
    const { one, other } = pair();
    other.handle('same', given => given);
    const plain = ['', 0, 1.5, true, false, null, undefined, Number.NaN, Number.POSITIVE_INFINITY, 1n];
    const objects = [{ at: new Date(0), bytes: new Uint8Array([1, 2]), missing: undefined }];
    for (const value of [...plain, [plain], ...objects, new Map([['n', new Set([1])]])])
      expect(await one.request('same', value)).toStrictEqual(value);
  });

  it('takes no more than it may hold, and takes again once answers have come', async () => {
    const { one, other } = pair({ max_waiting: 2 });
    const answer = Promise.withResolvers<string>();
    other.handle('ask', () => answer.promise);
    const asked = [one.request('ask'), one.request('ask')];
    await expect(one.request('ask')).rejects.toThrow(ChannelUnavailable);
    expect(one.notify('note')).toBe(false);
    answer.resolve('yes');
    expect(await Promise.all(asked)).toEqual(['yes', 'yes']);
    expect(await one.request('ask')).toBe('yes');
  });

  it('rejects what waits when the other end is closed, and all later requests', async () => {
    const { one, other, port2 } = pair();
    other.handle('ask', () => new Promise(() => {}));
    let ends = 0;
    one.onClosed(() => ends++);
    const asked = one.request('ask');
    port2.close();
    await expect(asked).rejects.toThrow(ChannelUnavailable);
    await expect(one.request('ask')).rejects.toThrow('has ended');
    expect([one.notify('note'), one.isOpen, one.waiting, ends]).toEqual([false, false, 0, 1]);
    one.onClosed(() => ends++);
    expect(ends).toBe(2);
  });

  it('leaves messages of others alone', async () => {
    const { one, other, port1 } = pair();
    other.handle('same', value => value);
    for (const message of [null, 'text', { type: 'other' }]) port1.postMessage(message);
    expect(await one.request('same', 1)).toBe(1);
  });
});

describe('a channel to a forked process', () => {
  it('answers requests of both sides', async () => {
    const { channel } = forked(
      `channel.handle('add', async ({ map, by }) => map.get('n') + by + (await channel.request('more')));`,
    );
    channel.handle('more', () => 3n);
    expect(await channel.request('add', { map: new Map([['n', 1n]]), by: 2n })).toBe(6n);
  });

  it('rejects what waits when the process is killed', async () => {
    const { child, channel } = forked(
      `channel.handle('hang', () => new Promise(() => {})).handle('ready', () => true);`,
    );
    expect(await channel.request('ready')).toBe(true);
    const asked = channel.request('hang');
    child.kill('SIGKILL');
    await expect(asked).rejects.toThrow(ChannelUnavailable);
    expect(channel.isOpen).toBe(false);
  });

  it('bounds notices to a process that does not read', async () => {
    const { child, channel } = forked(`channel.handle('ready', () => true);`);
    expect(await channel.request('ready')).toBe(true);
    child.kill('SIGSTOP');
    const text = 'x'.repeat(100_000);
    let sent = 0;
    await until(() => {
      while (channel.waiting < 1000 && channel.notify('note', text)) sent++;
      return channel.waiting > 0 && sent >= 1000;
    });
    const before = channel.waiting;
    expect(before).toBeGreaterThan(900);
    child.kill('SIGCONT');
    await until(() => channel.waiting === 0);
  });

  it('lets a process that has nothing else to do end when its parent disconnects', async () => {
    const { child, channel } = forked(`channel.handle('ready', () => true);`);
    expect(await channel.request('ready')).toBe(true);
    child.disconnect();
    await once(child, 'exit');
    expect([child.exitCode, channel.isOpen]).toEqual([0, false]);
  });
});
