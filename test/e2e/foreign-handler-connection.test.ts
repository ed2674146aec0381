import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { auth, validation } from '../../src/index.ts';
import { defineStage } from '../../src/plugin.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo, settlements } from '../support/chain-app.ts';
import { closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { completion, said } from '../support/hostile-setting.ts';
import { RawConnection, until } from '../support/raw-client.ts';
import { chunk, events, startScriptedUpstream, streamHead, whole } from '../support/scripted-upstream.ts';

const closing: { close(): unknown }[] = [];

afterEach(async () => {
  await closeApps();
  for (const one of closing.splice(0)) await one.close();
});

async function simulate(options: Parameters<typeof startSimulator>[0] = {}) {
  const simulator = await startSimulator(options);
  closing.push(simulator);
  return simulator;
}

async function scripted(script: Parameters<typeof startScriptedUpstream>[0]) {
  const upstream = await startScriptedUpstream(script);
  closing.push(upstream);
  return upstream;
}

/** All stages in front of the proxy, and how the exchanges ended. */
async function proxied(upstream: { url: string }, options: Parameters<typeof chainOf>[1] = {}) {
  const { outcomes, stage } = settlements();
  const app = await startApp(app => app.use(chainOf([stage, ...allStages()], options), proxyTo(upstream)));
  return { app, outcomes };
}

function connected(app: RunningApp): RawConnection {
  const connection = new RawConnection(app.url);
  closing.push({ close: () => connection.destroy() });
  return connection;
}

const requestOf = (body: object, path = '/v1/chat/completions'): string => {
  const text = JSON.stringify(body);
  return (
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${clientKey}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
};

describe('a client that leaves', () => {
  it('in the middle of a stream aborts the upstream', async () => {
    const upstream = await scripted(streamHead() + chunk(events(said('So far.'))));
    const { app, outcomes } = await proxied(upstream);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?', { stream: true })));
    await connection.received(/So far\./);
    connection.destroy();
    expect(await upstream.last.closed).toBe('gateway');
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 200, error_type: undefined }]);
    // It has used the tokens it has seen.
    expect(outcomes[0]?.usage).toMatchObject({ estimated: true, completion_tokens: 2 });
  });

  it.each([true, false])('before the reply has begun aborts the upstream (stream: %s)', async stream => {
    const upstream = await scripted('');
    const { app, outcomes } = await proxied(upstream);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?', { stream })));
    await until(() => upstream.requests.length === 1);
    connection.destroy();
    expect(await upstream.last.closed).toBe('gateway');
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 0 }]);
  });

  it('from an endless generation lets the upstream stop generating', async () => {
    const simulator = await simulate();
    const { app, outcomes } = await proxied(simulator);
    const controller = new AbortController();
    const reply = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('[[sim:tokens=endless tps=200]]', { stream: true })),
      signal: controller.signal,
    });
    const reader = reply.body!.getReader();
    await reader.read();
    controller.abort();
    await until(() => simulator.stats.aborted === 1 && outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone' }]);
  });

  it('while it sends its body asks nothing of the upstream', async () => {
    const upstream = await scripted('');
    const { app, outcomes } = await proxied(upstream);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?')).slice(0, -10));
    await sleep(50);
    connection.destroy();
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 0 }]);
    expect(upstream.requests).toEqual([]);
  });

  it.each([
    ['onHeaders', [] as const],
    ['onRequest', [validation()] as const],
  ] as const)('while a stage is busy in %s asks nothing of the handler', async (hook, stages) => {
    const { outcomes, stage } = settlements();
    let release = () => {};
    const busy = new Promise<void>(resolve => (release = resolve));
    let isBusy = false;
    const slow = defineStage({
      name: 'slow',
      schema: z.strictObject({}),
      create: () => ({
        [hook]: () => {
          isBusy = true;
          return busy;
        },
      }),
    });
    let called = false;
    const app = await startApp(app => {
      app.use(chainOf([stage, auth(), ...stages, slow()]), () => void (called = true));
    });
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?')));
    await until(() => isBusy);
    connection.destroy();
    await sleep(50);
    release();
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 0 }]);
    expect(called).toBe(false);
  });

  it('from another endpoint ends the exchange as well', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app => {
      app.use(chainOf([stage, auth()]), (_request, response) => void response.write('begun'));
    });
    const connection = connected(app);
    connection.write(requestOf({}, '/v1/embeddings'));
    await connection.received(/begun/);
    connection.destroy();
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 200, endpoint: 'unknown' }]);
  });
});

describe('a client that reads slowly', () => {
  /** An upstream that writes as fast as it may; how many bytes it could. */
  async function flood() {
    let written_bytes = 0;
    const part = chunk(events(...Array.from({ length: 100 }, () => said('x'.repeat(200)))));
    const upstream = await scripted(async socket => {
      socket.write(streamHead());
      while (!socket.destroyed) {
        written_bytes += part.length;
        if (!socket.write(part))
          await new Promise(resolve => socket.once('drain', resolve).once('close', resolve));
      }
    });
    return { upstream, written: () => written_bytes };
  }

  it('holds the upstream back, and is cut when it reads nothing for too long', async () => {
    const { upstream, written } = await flood();
    const { app, outcomes } = await proxied(upstream, { slow_client_ms: 5000 });
    const connection = connected(app);
    connection.socket.pause();
    connection.write(requestOf(ask('Hello?', { stream: true })));
    // Until all buffers on the way are full.
    let before = -1;
    await until(async () => {
      const full = written() > 0 && written() === before;
      before = written();
      await sleep(250);
      return full;
    });
    expect(written()).toBeLessThan(64 * 1024 * 1024);
    expect(outcomes).toEqual([]);
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'slow_client' }]);
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('still gets a large stream whole, which the upstream may go on sending', async () => {
    const content = 'x'.repeat(4000);
    const count = 10_000;
    let waits = 0;
    const upstream = await scripted(async socket => {
      socket.write(streamHead());
      for (let sent = 0; sent < count && !socket.destroyed; sent++) {
        if (socket.write(chunk(events(said(content))))) continue;
        waits++;
        await new Promise(resolve => socket.once('drain', resolve).once('close', resolve));
      }
      socket.write(chunk(events({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]')));
      socket.write('0\r\n\r\n');
    });
    const { app, outcomes } = await proxied(upstream);
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
    // Until all buffers on the way are full.
    let before = -1;
    await until(async () => {
      const full = waits > 0 && waits === before;
      before = waits;
      await sleep(250);
      return full;
    });
    const parts: Uint8Array[] = [];
    for await (const part of reply.body!) parts.push(part as Uint8Array);
    const all = eventsOf(Buffer.concat(parts).toString());
    const received = all.flatMap(({ json }) => json.choices?.[0]?.delta.content || []);
    expect(received).toHaveLength(count);
    expect(received.every(piece => piece === content)).toBe(true);
    expect(all.at(-1)?.data).toBe('[DONE]');
    expect(outcomes).toMatchObject([{ end_reason: 'completed', status: 200 }]);
  });

  it('still gets a large reply whole', async () => {
    const content = 'word '.repeat(1_000_000);
    const upstream = await scripted(whole(200, completion(content)));
    const { app, outcomes } = await proxied(upstream);
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
    await sleep(300);
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content }, finish_reason: 'stop' }] });
    expect(outcomes).toMatchObject([{ end_reason: 'completed', status: 200 }]);
  });
});

describe('a connection', () => {
  it('serves stream after stream and reply after reply', async () => {
    const simulator = await simulate();
    const { app } = await proxied(simulator);
    const connection = connected(app);
    for (let count = 1; count <= 4; count++) {
      const stream = count % 2 === 1;
      connection.write(requestOf(ask(`[[sim:say=answer ${count}]]`, { stream })));
      await connection.received(
        stream ? new RegExp(`${count}".*\\[DONE\\]\n\n\r\n0\r\n\r\n$`, 's') : /\}\}\}$/,
      );
    }
    const heads = connection.text.match(/HTTP\/1\.1 200 OK\r\n.*?\r\n\r\n/gs) ?? [];
    expect(heads).toHaveLength(4);
    for (const [at, head] of heads.entries()) {
      expect(head).toMatch(/^connection: keep-alive$/im);
      if (at % 2 === 0) expect(head).toMatch(/^transfer-encoding: chunked$/im);
    }
  });

  it('serves on after errors of all kinds', async () => {
    const simulator = await simulate();
    const { app, outcomes } = await proxied(simulator);
    const connection = connected(app);
    const failing = ['status=500', 'html', 'reset', 'reset=2', 'truncate=2'];
    for (const directive of failing) {
      for (const stream of [true, false]) {
        const already = connection.text.match(/provider_error/g)?.length ?? 0;
        connection.write(requestOf(ask(`[[sim:${directive}]]`, { stream })));
        await until(() => (connection.text.match(/provider_error/g)?.length ?? 0) === already + 1);
        await until(() => /(\}\}|\r\n0\r\n\r\n)$/.test(connection.text));
      }
    }
    connection.write(requestOf(ask('[[sim:say=In order.]]')));
    await connection.received(/In order\./);
    expect(outcomes).toHaveLength(failing.length * 2 + 1);
  });

  it('is closed after the reply where the client asked for it', async () => {
    const simulator = await simulate();
    const { app } = await proxied(simulator);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?', { stream: true })).replace('\r\n', '\r\nconnection: close\r\n'));
    await connection.closed;
    expect(connection.text).toMatch(/\[DONE\]\n\n\r\n0\r\n\r\n$/);
  });
});

describe('a refusal of a request whose body is still coming', () => {
  const large = `{"messages": "${'x'.repeat(3_000_000)}"}`;

  it('reaches the client, and its connection serves on', async () => {
    const simulator = await simulate();
    const { app } = await proxied(simulator);
    const connection = connected(app);
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${large.length}\r\n\r\n${large.slice(0, 1000)}`,
    );
    await connection.received(/HTTP\/1\.1 401 .*authentication_error/s);
    connection.write(large.slice(1000));
    connection.write(requestOf(ask('[[sim:say=In order.]]')));
    await connection.received(/HTTP\/1\.1 200 .*In order\./s);
  });

  it('reaches a client that sends all before it reads', async () => {
    const { app } = await proxied(await simulate(), { max_body_bytes: 1_000_000 });
    const refused = await post(`${app.url}/v1/chat/completions`, large, {
      authorization: 'Bearer sk-unknown-key',
    });
    expect(refused.status).toBe(401);
    const tooLarge = await post(`${app.url}/v1/chat/completions`, large.slice(0, 1_500_000));
    expect(tooLarge.status).toBe(413);
    expect(await tooLarge.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  const announced = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n';

  it('ends the connection of a client that does not go on', async () => {
    const { app } = await proxied(await simulate(), { body_idle_ms: 300 });
    const connection = connected(app);
    connection.write(`${announced}{`);
    await connection.received(/HTTP\/1\.1 401 /);
    await connection.closed;
  });

  it('ends the connection of a client that sends too much', async () => {
    const { app } = await proxied(await simulate(), { max_body_bytes: 10_000, body_idle_ms: 3_600_000 });
    const connection = connected(app);
    connection.write(announced);
    await connection.received(/HTTP\/1\.1 401 /);
    connection.write('x'.repeat(200_000));
    await connection.closed;
  });
});
