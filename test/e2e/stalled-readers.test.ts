import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from '@jest/globals';
import { requestOf } from '../support/chain-connection.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { expectWholeStream, finished, said, used } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  lastChunk,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

/** Loopback keeps about 7 MB on the way to one reader that stalls. */
const readers = 12;
const mebibyte = 1024 * 1024;

const waiting: Socket[] = [];
let gateway: GatewayUnderTest | undefined;
let upstream: ScriptedUpstream | undefined;

afterEach(async () => {
  for (const socket of waiting.splice(0)) socket.destroy();
  await gateway?.close();
  await upstream?.close();
});

/** An upstream that writes one and the same event as fast as it may, and how much it has written in all. */
async function flood(event_bytes: number) {
  let written_bytes = 0;
  const part = chunk(events({ ...said('x'.repeat(event_bytes)), usage: used(7, 3).usage }));
  const server = await startScriptedUpstream(async (socket, request) => {
    if (!request.text.includes('endless')) {
      socket.write(streamed(events(said('Hello.'), finished(), used(7, 3), '[DONE]')));
      return;
    }
    socket.write(streamHead());
    const gone = new Promise(resolve => socket.once('close', resolve));
    while (!socket.destroyed) {
      written_bytes += part.length;
      if (!socket.write(part))
        await Promise.race([gone, new Promise(resolve => socket.once('drain', resolve))]);
    }
  });
  return { server, written: () => written_bytes };
}

/** A client that asks for a stream and reads nothing of it until it is told to. */
function stalled(content: string): Socket {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(gateway!.url).port) });
  socket.pause().on('error', () => {});
  socket.write(requestOf(ask(content, { stream: true })));
  waiting.push(socket);
  return socket;
}

/** Waits until nothing moves any longer: all buffers on the way are full. */
async function untilFull(written: () => number): Promise<void> {
  let before = -1;
  await until(async () => {
    const full = written() > 0 && written() === before;
    before = written();
    // biome-ignore lint/plugin: the time in which nothing moves.
    await sleep(500);
    return full;
  });
}

/** What this process holds, without garbage and without what the kernel holds for it. */
async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let time = 0; time < 3; time++) {
    collect();
    await sleep(20);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const ended = (end_reason: string): Promise<number> =>
  gateway!.metric('sluice_requests_total', { end_reason });

describe(`${readers} clients that open an endless stream and never read`, () => {
  /**
   * What one may hold beside the kernel's buffers: 64 KiB in the socket's queue and what one turn adds to it, 64 Ki characters and an
   * event; an event that waits to be written; 256 KiB and one read that no stage has read, once as text and once as objects; the event
   * that is being read.
   */
  const most_bytes = (event_bytes: number): number => mebibyte + 6 * event_bytes;

  it.each([
    { event_bytes: 4_000, of: 'text' },
    { event_bytes: 200_000, of: 'large events' },
  ])(
    'pause the upstream and use bounded memory for a stream of $of',
    async ({ event_bytes }) => {
      const { server, written } = await flood(event_bytes);
      upstream = server;
      // Nobody is cut while this is measured.
      gateway = await startGateway({ upstream, server: { slow_client_ms: 600_000 } });
      expectWholeStream(await gateway.stream(ask('Hello?')), 'Hello.');
      const before = await heldBytes();

      for (let n = 0; n < readers; n++) stalled('endless');
      await untilFull(written);
      expect(await gateway.metric('sluice_in_flight')).toBe(readers);
      expect(((await heldBytes()) - before) / readers).toBeLessThan(most_bytes(event_bytes));

      // Nobody else waits for them.
      expectWholeStream(await gateway.stream(ask('Hello?')), 'Hello.');
      const cpu = process.cpuUsage();
      // biome-ignore lint/plugin: the time in which CPU is measured.
      await sleep(1000);
      const { user, system } = process.cpuUsage(cpu);
      expect(user + system).toBeLessThan(700_000);

      for (const socket of waiting.splice(0)) socket.destroy();
      await until(() => server.requests.every(({ text, isClosed }) => isClosed || !text.includes('endless')));
      await until(async () => (await gateway!.metric('sluice_in_flight')) === 0);
      expect(await ended('client_gone')).toBe(readers);
      // The test's own server keeps each request with its socket; Node gives buffers of closed ones back over several turns.
      server.requests.splice(0);
      // Far below what one of them held; the process itself has grown a little meanwhile.
      await until(async () => (await heldBytes()) - before < 4_000_000);
    },
    120_000,
  );
});

describe('a client that reads nothing for slow_client_ms', () => {
  it('has received all of a stream that is recorded as completed, and only part of any other', async () => {
    upstream = await startScriptedUpstream((socket, { text }) => {
      const part = chunk(events(said('x'.repeat(59_000))));
      socket.write(streamHead());
      for (let left = Number(/parts=(\d+)/.exec(text)?.[1]); left > 0; left--) socket.write(part);
      socket.write(chunk(events(finished(), used(7, 3), '[DONE]')));
      socket.write(lastChunk);
    });
    gateway = await startGateway({ upstream, server: { slow_client_ms: 1000 } });
    // Of sizes around what a connection holds, so that some are cut while only their end waits.
    const clients = Array.from({ length: 20 }, (_, n) => stalled(`parts=${1 + 6 * n}`));
    await until(async () => (await gateway!.metric('sluice_requests_total')) === clients.length, 60_000);
    const texts = await Promise.all(clients.map(rest));
    const whole = texts.filter(({ text }) => text.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n'));
    expect(whole.length).toBeGreaterThan(0);
    expect(whole.length).toBeLessThan(clients.length);
    for (const { text, error } of texts.filter(one => !whole.includes(one))) {
      expect(text).toMatch(/^HTTP\/1\.1 200 /);
      // Not closed in order: the system would hold megabytes for it as long as it lives.
      expect(error).toBe('ECONNRESET');
    }
    expect(await ended('completed')).toBe(whole.length);
    expect(await ended('slow_client')).toBe(clients.length - whole.length);
  }, 120_000);
});

interface Rest {
  readonly text: string;
  /** The code of the error that ended the connection, if one did. */
  readonly error: string | undefined;
}

/** What is still to be read of a reply that has ended for the gateway, and how its connection ends. */
function rest(socket: Socket): Promise<Rest> {
  return new Promise(resolve => {
    let text = '';
    let error: string | undefined;
    socket.setEncoding('utf8').on('data', part => {
      text += part;
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      error = code;
    });
    // A complete reply leaves the connection open for the next request.
    // biome-ignore lint/plugin: nothing more comes of it.
    const idle = setTimeout(() => socket.destroy(), 500);
    socket.on('data', () => idle.refresh());
    socket.on('close', () => {
      clearTimeout(idle);
      resolve({ text, error });
    });
    socket.resume();
  });
}
