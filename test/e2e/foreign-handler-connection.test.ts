import { afterEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { connected, proxied, requestOf } from '../support/chain-connection.ts';
import { alongside, closeApps } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

describe('a client connection', () => {
  it('serves streams and whole replies one after the other', async () => {
    const simulator = alongside(await startSimulator());
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

  it('stays usable after errors of every kind', async () => {
    const simulator = alongside(await startSimulator());
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

  it('is closed after the reply when the client asked for that', async () => {
    const simulator = alongside(await startSimulator());
    const { app } = await proxied(simulator);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?', { stream: true })).replace('\r\n', '\r\nconnection: close\r\n'));
    await connection.closed;
    expect(connection.text).toMatch(/\[DONE\]\n\n\r\n0\r\n\r\n$/);
  });
});

describe('a refusal sent while the request body is still arriving', () => {
  const large = `{"messages": "${'x'.repeat(3_000_000)}"}`;

  it('reaches the client and keeps the connection usable', async () => {
    const simulator = alongside(await startSimulator());
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

  it('reaches a client that sends its whole body before it reads', async () => {
    const { app } = await proxied(alongside(await startSimulator()), { max_body_bytes: 1_000_000 });
    const refused = await post(`${app.url}/v1/chat/completions`, large, {
      authorization: 'Bearer sk-unknown-key',
    });
    expect(refused.status).toBe(401);
    const tooLarge = await post(`${app.url}/v1/chat/completions`, large.slice(0, 1_500_000));
    expect(tooLarge.status).toBe(413);
    expect(await tooLarge.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  const announced = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n';

  it('closes the connection of a client that stops sending', async () => {
    const { app } = await proxied(alongside(await startSimulator()), { body_idle_ms: 300 });
    const connection = connected(app);
    connection.write(`${announced}{`);
    await connection.received(/HTTP\/1\.1 401 /);
    await connection.closed;
  });

  it('closes the connection of a client that sends too much', async () => {
    const { app } = await proxied(alongside(await startSimulator()), {
      max_body_bytes: 10_000,
      body_idle_ms: 3_600_000,
    });
    const connection = connected(app);
    connection.write(announced);
    await connection.received(/HTTP\/1\.1 401 /);
    connection.write('x'.repeat(200_000));
    await connection.closed;
  });
});
