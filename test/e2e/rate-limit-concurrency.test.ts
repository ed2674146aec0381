import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { LimitName } from '../../src/stores/limits/limit-table.ts';
import { MemoryStateStore } from '../../src/stores/limits/memory-state-store.ts';
import type { StateStore } from '../../src/stores/limits/state-store.ts';
import { type FaultyPlace, faultyPlaces } from '../fixtures/stages/faulty.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { bothWays, completion, delta, expectRefusal, finished, said } from '../support/hostile-setting.ts';
import { closeLimited, type LimitedGateway, startLimited } from '../support/limited-gateway.ts';
import { RawConnection } from '../support/raw-client.ts';
import { startRedis } from '../support/redis-server.ts';
import { openRedisStore } from '../support/redis-store.ts';
import { chunk, events, streamed, streamHead, thenReset, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeLimited);

const two = { concurrent_requests: 2 };
const refusal = 'Rate limit exceeded: 2 concurrent requests. Retry when one has ended.';
const held = ({ remaining }: LimitedGateway) => 2 - remaining('concurrent_requests', 2);

/** Two requests that wait for their upstream, which a third would be refused for. */
async function occupied(stream: boolean, overrides: Parameters<typeof startLimited>[1] = {}) {
  const limited = await startLimited(two, overrides);
  const sockets: { write(bytes: string | Buffer): unknown; resetAndDestroy(): unknown }[] = [];
  limited.upstream.reply(socket => sockets.push(socket));
  const body = JSON.stringify(ask('Hello?', { stream }));
  const clients = [1, 2].map(() => {
    const client = new RawConnection(limited.gateway.url);
    client.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    return client;
  });
  await until(() => sockets.length === 2);
  await expectRefusal(await limited.send({ stream }), 429, 'rate_limit_error', refusal);
  expect(held(limited)).toBe(2);
  return { ...limited, limited, clients, sockets };
}

const reply = (stream: boolean) =>
  stream ? streamed(events(said('Yes.'), finished(), '[DONE]')) : whole(200, completion('Yes.'));

describe.each(bothWays)('a concurrency permit, $way,', ({ stream }) => {
  it('is released when a reply has ended', async () => {
    const { limited, clients, sockets, send, upstream } = await occupied(stream);
    for (const socket of sockets) socket.write(reply(stream));
    await Promise.all(clients.map(client => client.received(/Yes\./)));
    await until(() => held(limited) === 0);
    upstream.reply(reply(stream));
    expect((await send({ stream })).status).toBe(200);
  });

  it('is released when the upstream resets the connection', async () => {
    const { limited, clients, sockets } = await occupied(stream);
    for (const socket of sockets) socket.resetAndDestroy();
    await Promise.all(clients.map(client => client.received(/502/)));
    await until(() => held(limited) === 0);
  });

  it('is released when a reply is cut in the middle', async () => {
    const { limited, sockets } = await occupied(stream);
    for (const socket of sockets) {
      socket.write(
        stream
          ? Buffer.concat([Buffer.from(streamHead()), chunk(events(said('Ye')))])
          : reply(false).subarray(0, 150),
      );
      setTimeout(() => socket.resetAndDestroy(), 50);
    }
    await until(() => held(limited) === 0);
  });

  it('is released when the gateway is closed', async () => {
    const { limited, gateway } = await occupied(stream);
    await gateway.gateway.close(0);
    expect(held(limited)).toBe(0);
  });
});

describe('a concurrency permit', () => {
  it('is released at once when the client of a stream leaves', async () => {
    const { limited, clients } = await occupied(true);
    for (const client of clients) client.destroy();
    await until(() => held(limited) === 0);
  });

  it('is held while the reply of a client that left is read in the background', async () => {
    const { limited, clients, sockets, gateway, send } = await occupied(false);
    for (const client of clients) client.destroy();
    await until(async () => (await gateway.metric('sluice_background_reads')) === 2);
    await expectRefusal(await send(), 429, 'rate_limit_error', refusal);
    expect(held(limited)).toBe(2);
    for (const socket of sockets) socket.write(reply(false));
    await until(() => held(limited) === 0);
  });

  it('is held while a reply is read in the background after 524', async () => {
    const { limited, clients, sockets, send } = await occupied(false, {
      server: { non_stream_timeout_ms: 300 },
    });
    await Promise.all(clients.map(client => client.received(/^HTTP\/1\.1 524 /)));
    await expectRefusal(await send(), 429, 'rate_limit_error', refusal);
    expect(held(limited)).toBe(2);
    sockets[0]!.write(reply(false));
    await until(() => held(limited) === 1);
    sockets[1]!.write(reply(false));
    await until(() => held(limited) === 0);
  });

  it('is released when a background read takes too long', async () => {
    const { limited, gateway } = await occupied(false, {
      server: { non_stream_timeout_ms: 500, max_background_ms: 200 },
    });
    await until(() => held(limited) === 0);
    const given_up = { status: '524', end_reason: 'background_aborted' };
    expect(await gateway.metric('sluice_requests_total', given_up)).toBe(2);
  });

  it('is released when a client does not read', async () => {
    const { limited, clients, sockets } = await occupied(true, { server: { slow_client_ms: 300 } });
    for (const client of clients) client.socket.pause();
    const flood = chunk(events(...Array<object>(200).fill(delta({ content: 'x'.repeat(1000) }))));
    for (const socket of sockets) {
      socket.write(streamHead());
      for (let at = 0; at < 60; at++) socket.write(flood);
    }
    await until(() => held(limited) === 0);
    for (const client of clients) client.destroy();
  });

  it('is released when an upstream resets before its first byte', async () => {
    const limited = await startLimited(two);
    limited.upstream.reply(thenReset());
    for (let at = 0; at < 5; at++) await (await limited.send()).text();
    await limited.idle();
    expect(held(limited)).toBe(0);
  });
});

describe('a state store that answers after the hook was given up', () => {
  const server = { non_stream_timeout_ms: 100 };
  const limits = { ...two, requests_per_minute: 10, tokens_per_minute: 5000 };

  it.each<[hook: string, isHeld: (names: readonly LimitName[]) => boolean]>([
    ['onHeaders', names => names.includes('concurrent_requests')],
    ['onRequest', names => names.includes('tokens_per_minute')],
  ])('holds nothing that it reserved in %s', async (_, isHeld) => {
    const memory = new MemoryStateStore(new FakeClock());
    const left = (name: LimitName, max: number) => memory.statuses('tester', [{ name, max }])[0]!.remaining;
    const places = () => [left('concurrent_requests', 2), left('requests_per_minute', 10)];
    const late: (() => void)[] = [];
    let decided = 0;
    const state: StateStore = {
      async reserve(request) {
        const isLate = isHeld(request.limits.map(({ name }) => name));
        if (isLate) await new Promise<void>(go => late.push(go));
        const result = memory.reserve(request);
        if (isLate && result.admitted) decided++;
        return result;
      },
      statuses: async (account, limits) => memory.statuses(account, limits),
      knownStatuses: () => [],
      close: async () => {},
    };
    const limited = await startLimited(limits, { options: { state }, server });
    const replies = await Promise.all([limited.send(), limited.send()]);
    expect(replies.map(({ status }) => status)).toEqual([502, 502]);
    await limited.idle();
    for (const go of late) go();
    await until(() => decided === 2);
    expect(places()).toEqual([2, 10]);
    expect(left('tokens_per_minute', 5000)).toBe(5000);
    expect(limited.upstream.requests).toHaveLength(0);
  });

  it('locks no account out with a Redis that is silent for longer than the time limit', async () => {
    const redis = await startRedis();
    const { store, remote } = await openRedisStore({ url: redis.url, timeout_ms: 600 });
    try {
      const limited = await startLimited(two, { options: { state: store }, server });
      limited.upstream.reply(reply(false));
      redis.pause();
      const replies = await Promise.all([limited.send(), limited.send()]);
      expect(replies.map(({ status }) => status)).toEqual([502, 502]);
      await limited.idle();
      await until(() => store.outage !== undefined);
      redis.resume();
      await until(() => store.outage === undefined);
      const left = async () =>
        (await remote.statuses('tester', [{ name: 'concurrent_requests', max: 2 }]))[0];
      await until(async () => (await left())?.remaining === 2);
      expect((await limited.send()).status).toBe(200);
    } finally {
      redis.resume();
      await store.close();
      await redis.stop();
    }
  });
});

describe('a slow state store', () => {
  /** Answers after a while, as one elsewhere does. */
  function slow(answer_ms: number) {
    const memory = new MemoryStateStore(new FakeClock());
    const state: StateStore = {
      async reserve(request) {
        await sleep(answer_ms);
        return memory.reserve(request);
      },
      statuses: async (account, limits) => memory.statuses(account, limits),
      knownStatuses: () => [],
      close: async () => {},
    };
    const left = (name: LimitName, max: number) => memory.statuses('tester', [{ name, max }])[0]!.remaining;
    return { state, left };
  }

  it('holds no permit for a client that left during the call, and counts its request', async () => {
    const { state, left } = slow(200);
    const limited = await startLimited({ ...two, requests_per_minute: 5 }, { options: { state } });
    const controller = new AbortController();
    const asked = limited.send({}, { signal: controller.signal });
    await until(() => limited.gateway.gateway.inFlight === 1);
    await sleep(50);
    controller.abort();
    await expect(asked).rejects.toThrow();
    await limited.idle();
    expect(limited.upstream.requests).toHaveLength(0);
    expect([left('concurrent_requests', 2), left('requests_per_minute', 5)]).toEqual([2, 4]);
  });

  it('admits exactly the limit out of a burst', async () => {
    const { state } = slow(20);
    const limited = await startLimited({ requests_per_minute: 30 }, { options: { state } });
    limited.upstream.reply(reply(false));
    const replies = await Promise.all(Array.from({ length: 100 }, () => limited.send()));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(30);
    await Promise.all(replies.map(one => one.text()));
  });
});

describe('a concurrency permit when a stage fails', () => {
  const faulty = resolve(import.meta.dirname, '../fixtures/stages/faulty.ts');
  const around = (place: FaultyPlace, refuses: boolean, where: 'before' | 'behind') => {
    const stage = { [faulty]: { place, refuses } };
    const [before, behind] = where === 'before' ? [[stage], []] : [[], [stage]];
    return ['error-envelope', 'auth', ...before, 'rate-limit', ...behind, 'stream-rechunk'];
  };

  it.each(faultyPlaces)(
    'is released after a failure in %s, before or behind rate-limit, by refusal or by a bug',
    async place => {
      for (const where of ['before', 'behind'] as const) {
        for (const refuses of [true, false]) {
          const limited = await startLimited(two, { stages: around(place, refuses, where) });
          for (const stream of [true, false]) {
            limited.upstream.reply(
              place === 'onError'
                ? whole(500, 'no')
                : stream
                  ? streamed(events(said('a'), said('b'), said('c'), finished(), '[DONE]'))
                  : reply(false),
            );
            await (await limited.send({ stream })).text();
          }
          await limited.idle();
          expect([where, refuses, held(limited)]).toEqual([where, refuses, 0]);
        }
      }
    },
  );
});
