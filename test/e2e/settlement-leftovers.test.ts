import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';
import { type Script, thenReset, whole } from '../support/scripted-upstream.ts';
import { type Asked, type Books, closeBalanced, openBooks } from '../support/settlement.ts';
import {
  doneSeen,
  halfSeen,
  middleOf,
  usageKinds,
  wholeReplyOf,
  wholeStreamOf,
} from '../support/settlement-answer.ts';
import { sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const [kind] = usageKinds;

/** Numbers between 0 and 1, the same in every run. */
function* dice(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

describe('clients that leave at any moment', () => {
  /** A reply in pieces, with a pause in which clients may leave; some end in an accident. */
  const slowly =
    (pause_ms: number, accident: boolean): Script =>
    async (socket, { body }) => {
      const bytes = body.stream ? wholeStreamOf(kind!) : wholeReplyOf(kind!);
      const size = Math.ceil(bytes.length / 20);
      for (let at = 0; at < bytes.length; at += size) {
        if (socket.destroyed) return;
        if (accident && at > bytes.length / 2) return void socket.resetAndDestroy();
        socket.write(bytes.subarray(at, at + size));
        await sleep(pause_ms);
      }
    };

  it('leave one record each and nothing else', async () => {
    const books = await openBooks({ server: { non_stream_timeout_ms: 120, max_background: 2 } });
    const random = dice(7);
    books.upstream.reply((socket, request) => {
      const play = slowly(random.next().value * 20, random.next().value < 0.2);
      return typeof play === 'function' && play(socket, request);
    });
    const client = async (): Promise<void> => {
      const user = String(random.next().value);
      const asked = books.ask({ stream: random.next().value < 0.6, user });
      // What has not arrived yet need not leave a record; the time limit may end it before the upstream sees it.
      await until(
        () =>
          books.upstream.requests.some(({ body }) => body.user === user) ||
          books.entries.some(({ outcome }) => outcome.id === asked.id),
      );
      await sleep(random.next().value * 300);
      const { socket } = asked.connection;
      // Some say goodbye, some are gone, some stay.
      const way = random.next().value;
      if (way < 0.35) socket.destroy();
      else if (way < 0.7) socket.resetAndDestroy();
      await asked.settled();
    };
    for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 60 }, client));
    const reasons = new Set(books.entries.map(({ outcome }) => outcome.end_reason));
    // Otherwise this would be a test of nothing.
    const all = ['background_aborted', 'client_gone', 'completed', 'time_limit', 'upstream_failed'];
    expect([...reasons].toSorted()).toEqual(all);
    expect(books.entries).toHaveLength(180);
  });
});

/** Every kind of end once, at the same time. */
async function everyEnd(books: Books): Promise<void> {
  const { upstream } = books;
  const leaves = async (script: Script, when: RegExp | undefined, stream: boolean) => {
    upstream.replyOnce(script);
    const before = upstream.requests.length;
    const asked = books.ask({ stream });
    await until(() => upstream.requests.length > before);
    if (when) await asked.connection.received(when);
    asked.connection.destroy();
    return asked;
  };
  const all: Asked[] = [
    await leaves(wholeStreamOf(kind!), doneSeen, true),
    await leaves(wholeReplyOf(kind!), /\}$/, false),
    await leaves(() => {}, undefined, true),
    await leaves(middleOf(kind!), halfSeen, true),
    await leaves(thenReset(middleOf(kind!)), doneSeen, true),
    await leaves(whole(500, {}), /\}$/, false),
    await leaves(() => {}, /^HTTP\/1\.1 524/, false),
    await leaves(() => {}, undefined, false),
    // biome-ignore lint/plugin: after the client has left.
    await leaves(socket => setTimeout(() => socket.write(wholeReplyOf(kind!)), 500), undefined, false),
  ];
  await Promise.all(all.map(asked => asked.settled()));
}

describe('the process after every kind of ending', () => {
  it('holds no socket, server or timer', async () => {
    const active = (kind: RegExp) => process.getActiveResourcesInfo().filter(name => kind.test(name));
    // Earlier tests' connections may take a moment to close; the runner has timers of its own.
    await until(() => active(/^TCP/).length === 0);
    const timers = active(/^Timeout/).length;
    const books = await openBooks({ server: { non_stream_timeout_ms: 300, max_background_ms: 700 } });
    for (let time = 0; time < 3; time++) await everyEnd(books);
    expect(books.entries).toHaveLength(27);
    await closeBalanced();
    await until(() => active(/^TCP/).length === 0);
    await until(() => active(/^Timeout/).length <= timers);
  });
});

describe('a sidecar process', () => {
  let simulator: Simulator | undefined;

  afterEach(async () => {
    await simulator?.close();
    simulator = undefined;
  });

  const head = (content: string, more: object) => {
    const body = JSON.stringify(ask(content, more));
    return (
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${clientKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    );
  };

  it('adds no excess listeners and logs no warnings over many requests on few connections', async () => {
    simulator = await startSimulator();
    const sidecar = await startSidecar(
      sidecarConfig(simulator.url, { server: { non_stream_timeout_ms: 400 } }),
    );
    const connection = new RawConnection(sidecar.url);
    const asks: [string, object, RegExp][] = [
      ['[[sim:tokens=3 reasoning_tokens=0]]', { stream: true }, /\r\n0\r\n\r\n$/],
      ['[[sim:tokens=3 reasoning_tokens=0]]', {}, /\}$/],
      ['[[sim:reset=2]]', { stream: true }, /\r\n0\r\n\r\n$/],
      ['[[sim:status=400]]', {}, /\}$/],
      ['Hello', { n: 99 }, /\}$/],
    ];
    try {
      for (let time = 0; time < 75; time++) {
        const [content, more, end] = asks[time % asks.length]!;
        connection.text = '';
        connection.write(head(content, more));
        await connection.received(end);
      }
      for (let time = 0; time < 30; time++) {
        const leaving = new RawConnection(sidecar.url);
        leaving.write(head('[[sim:tokens=endless tps=100]]', { stream: true }));
        await leaving.received(/"content"/);
        leaving.destroy();
      }
      const metrics = async () => (await fetch(`${sidecar.adminUrl}/metrics`)).text();
      await until(async () => /sluice_in_flight\{endpoint="chat.completions"\} 0\n/.test(await metrics()));
      const counted = (await metrics()).match(/^sluice_requests_total\{.*\} \d+$/gm) ?? [];
      expect(counted.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)).toBe(105);
    } finally {
      connection.destroy();
      expect(await sidecar.stop()).toBe(0);
    }
    expect(sidecar.output()).not.toMatch(/Warning|MaxListeners|"level":(50|60)/);
  });
});
