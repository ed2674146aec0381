import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { LimitName } from '../../src/gateway/limits/limit-table.ts';
import type { StateStore } from '../../src/gateway/limits/state-store.ts';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { bothWays, completion, expectRefusal, finished, said } from '../support/hostile-setting.ts';
import { closeLimited, type LimitedGateway, startLimited } from '../support/limited-gateway.ts';
import { RawConnection } from '../support/raw-client.ts';
import { startRedis } from '../support/redis-server.ts';
import { openRedisStore } from '../support/redis-store.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeLimited);

const two = { concurrent_requests: 2 };
const refusal = 'Rate limit exceeded: 2 concurrent requests. Retry when one has ended.';
const held = ({ remaining }: LimitedGateway) => 2 - remaining('concurrent_requests', 2);

/** Two requests that wait for their upstream, which a third would be refused for. */
async function occupied(stream: boolean, overrides: Parameters<typeof startLimited>[1] = {}) {
  const limited = await startLimited(two, overrides);
  const sockets: { write(bytes: string | Buffer): unknown }[] = [];
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

it.each(bothWays)(
  'a request above concurrent_requests is refused until another has ended, $way',
  async ({ stream }) => {
    const { limited, clients, sockets, send, upstream } = await occupied(stream);
    sockets[0]!.write(reply(stream));
    await clients[0]!.received(/Yes\./);
    await until(() => held(limited) === 1);
    upstream.reply(reply(stream));
    expect((await send({ stream })).status).toBe(200);
    sockets[1]!.write(reply(stream));
    await until(() => held(limited) === 0);
  },
);

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
    const { store, used } = await openRedisStore({ url: redis.url, timeout_ms: 600 });
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
      const limit = { name: 'concurrent_requests', max: 2 } as const;
      await until(async () => (await used('tester', [limit]))[0] === 0);
      // The time limit is short for a busy machine.
      await until(async () => (await limited.send()).status === 200);
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
});
