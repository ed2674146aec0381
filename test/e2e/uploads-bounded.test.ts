import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { startSimulator } from '../../src/simulator/server.ts';
import { proxied } from '../support/chain-connection.ts';
import { alongside, closeApps } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { closeLimited, type LimitedGateway, startLimited } from '../support/limited-gateway.ts';
import { RawConnection } from '../support/raw-client.ts';
import { whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const connections: RawConnection[] = [];

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await closeLimited();
  await closeApps();
});

const MiB = 1024 * 1024;
const otherKey = 'sk-another-key-0123456789';

/** Begins a request that announces so many bytes, and sends `sent`. */
function upload(
  { url }: { readonly url: string },
  announced_bytes: number,
  sent: string | Buffer,
  { key = clientKey, path = '/v1/chat/completions' } = {},
): RawConnection {
  const connection = new RawConnection(url);
  connections.push(connection);
  connection.write(
    `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${announced_bytes}\r\n\r\n`,
  );
  connection.write(sent);
  return connection;
}

/** Sends a byte now and then until the connection is closed. */
async function dribble(connection: RawConnection): Promise<void> {
  const timer = setInterval(() => connection.socket.writable && connection.write(' '), 20);
  await connection.closed;
  clearInterval(timer);
}

const buffered = ({ gateway }: LimitedGateway) => gateway.metric('sluice_buffered_request_bytes');
/** Whether so many bytes have arrived: they count twice, and a little for each piece. */
const hasArrived = (count: number, bytes: number) => count >= 2 * bytes && count < 2.1 * bytes;
const running = ({ remaining }: LimitedGateway) => 100 - remaining('concurrent_requests', 100);
const statusOf = ({ text }: RawConnection) => /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? '';

async function expectNothingHeld(limited: LimitedGateway): Promise<void> {
  await limited.idle();
  expect([await buffered(limited), running(limited)]).toEqual([0, 0]);
}

describe('a hundred unfinished uploads of one account', () => {
  it('are limited to four that are read, and 96 get 429 at once', async () => {
    const limited = await startLimited({ concurrent_requests: 4 });
    const { gateway } = limited;
    const uploads = Array.from({ length: 100 }, () => upload(gateway, 15 * MiB, Buffer.alloc(MiB, 0x20)));
    await until(() => uploads.filter(one => statusOf(one) === '429').length === 96);
    await until(async () => hasArrived(await buffered(limited), 4 * MiB));
    expect(uploads.map(statusOf).filter(status => status === '')).toHaveLength(4);
    const refused = uploads.find(one => statusOf(one) === '429')!;
    expect(refused.text).toMatch(/^retry-after: 1\r$/im);
    expect(running(limited)).toBe(4);
    for (const one of uploads) one.destroy();
    await expectNothingHeld(limited);
  });
});

describe('an upload that arrives one byte at a time', () => {
  const server = { body_idle_ms: 60_000, body_timeout_ms: 300 };

  it('ends at the total deadline and releases its connection, its permit and its bytes', async () => {
    const limited = await startLimited({ concurrent_requests: 4 }, { server });
    const connection = upload(limited.gateway, MiB, '{');
    await dribble(connection);
    expect(connection.text).toMatch(/^HTTP\/1\.1 400 [\s\S]*did not arrive within 0\.3 seconds\./);
    expect(connection.text).toMatch(/^connection: close\r$/im);
    await expectNothingHeld(limited);
  });

  it('ends at the total deadline even when it is only discarded after a refusal', async () => {
    const limited = await startLimited({}, { server });
    const connection = upload(limited.gateway, MiB, '{', { key: 'sk-unknown' });
    await dribble(connection);
    expect(statusOf(connection)).toBe('401');
  });
});

describe('an upload that is passed through', () => {
  const path = '/v1/files';

  /** In front of a provider that counts what it receives; one slow upload may take 10 s and 1 s for each 1000 bytes. */
  async function passingThrough() {
    let received_bytes = 0;
    const server = createServer((request, response) => {
      request.on('data', (part: Buffer) => {
        received_bytes += part.length;
      });
      request.on('end', () => response.end('{}'));
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    alongside({ close: () => void server.close() });
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const limited = await startLimited(
      { concurrent_requests: 4 },
      {
        server: { body_idle_ms: 60_000, body_timeout_ms: 10_000 },
        config: {
          providers: { upstream: { adapter: 'vllm', base_url } },
          passthrough: [{ path, methods: ['POST'], provider: 'upstream', min_body_bytes_per_second: 1000 }],
        },
      },
    );
    return { limited, received: (bytes: number) => until(() => received_bytes === bytes) };
  }

  it('is refused when its average rate is too low, and releases its permit', async () => {
    const { limited, received } = await passingThrough();
    const connection = upload(limited.gateway, MiB, ' '.repeat(1000), { path });
    await received(1000);
    limited.clock.advance(11_100);
    connection.write(' ');
    await connection.received(/^HTTP\/1\.1 400 [\s\S]*did not arrive at 1000 bytes per second\./);
    await dribble(connection);
    await expectNothingHeld(limited);
  });

  it('may take longer than other bodies when its rate is high enough', async () => {
    const { limited, received } = await passingThrough();
    const connection = upload(limited.gateway, 40_000, ' '.repeat(10_000), { path });
    for (const bytes of [10_000, 20_000, 30_000]) {
      await received(bytes);
      limited.clock.advance(12_000);
      connection.write(' '.repeat(10_000));
    }
    await connection.received(/^HTTP\/1\.1 200 /);
  });
});

describe('the request bodies in memory', () => {
  const accounts = {
    tester: { plan: 'tested', keys: [{ value: clientKey }] },
    other: { plan: 'tested', keys: [{ value: otherKey }] },
  };
  const bounded = (limits: { max_buffered_bytes?: number; max_buffered_bytes_per_account?: number }) =>
    startLimited(
      { concurrent_requests: 50 },
      { server: { max_body_bytes: MiB, ...limits }, config: { accounts } },
    );
  const refusals = ({ gateway }: LimitedGateway, bound: string) =>
    gateway.metric('sluice_buffer_refusals_total', { bound });
  const half = ' '.repeat(MiB / 2);

  it('are bounded for each account before announced ones arrive, without affecting other accounts', async () => {
    const limited = await bounded({ max_buffered_bytes_per_account: 4 * MiB });
    const { gateway, upstream } = limited;
    upload(gateway, MiB, half);
    await until(async () => hasArrived(await buffered(limited), MiB / 2));
    const announced = upload(gateway, MiB, '');
    await announced.received(/^HTTP\/1\.1 502 [\s\S]*"server_error"/);
    expect(announced.text).toMatch(/^retry-after: 1\r$/im);
    const reply = await gateway.post(half, {
      headers: { authorization: `Bearer ${otherKey}` },
    });
    expect(reply.status).toBe(400);
    upstream.reply(whole(200, completion('Yes.')));
    expect((await limited.send()).status).toBe(200);
    expect([await refusals(limited, 'account'), await refusals(limited, 'total')]).toEqual([1, 0]);
  });

  it('are bounded when they arrive unannounced', async () => {
    const limited = await bounded({ max_buffered_bytes_per_account: 4 * MiB });
    upload(limited.gateway, MiB, half);
    await until(async () => hasArrived(await buffered(limited), MiB / 2));
    const chunked = new RawConnection(limited.gateway.url);
    connections.push(chunked);
    chunked.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${clientKey}\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    chunked.write(`100000\r\n${half}${half}\r\n`);
    await chunked.received(/^HTTP\/1\.1 502 [\s\S]*"server_error"/);
    await until(async () => hasArrived(await buffered(limited), MiB / 2));
  });

  it('are bounded over all accounts together', async () => {
    const limited = await bounded({
      // Large bodies may take three quarters: room for one beside a half, whichever arrives first, and not beside two halves.
      max_buffered_bytes: 4.75 * MiB,
      max_buffered_bytes_per_account: 8 * MiB,
    });
    const { gateway } = limited;
    const held = [upload(gateway, MiB, half), upload(gateway, MiB, half, { key: otherKey })];
    await until(async () => hasArrived(await buffered(limited), MiB));
    for (const key of [clientKey, otherKey]) {
      const refused = upload(gateway, MiB, '', { key });
      await refused.received(/^HTTP\/1\.1 502 [\s\S]*"server_error"/);
    }
    expect(await refusals(limited, 'total')).toBe(2);
    for (const one of held) one.destroy();
    await expectNothingHeld(limited);
    const reply = await gateway.post(half);
    expect(reply.status).toBe(400);
  });

  it('are held until their exchange ends, and a single one that is too large gets 413', async () => {
    const limited = await bounded({});
    let answer = () => {};
    limited.upstream.reply(socket => {
      answer = () => socket.write(whole(200, completion('Yes.')));
    });
    const body = JSON.stringify(ask('Hello?'));
    const asked = limited.gateway.post(body);
    await until(() => limited.upstream.requests.length === 1);
    // The text, the copy for the upstream, 6 values and 4 keys.
    expect(await buffered(limited)).toBe(2 * body.length + 6 * 64 + 4 * 128);
    answer();
    await (await asked).text();
    await expectNothingHeld(limited);
    expect((await limited.gateway.post(`${half}${half} `)).status).toBe(413);
    await expectNothingHeld(limited);
  });

  it('are bounded in front of a handler as well', async () => {
    const registry = new Registry();
    const simulator = alongside(await startSimulator());
    const { app } = await proxied(simulator, {
      registry,
      max_body_bytes: MiB,
      max_buffered_bytes_per_account: 4 * MiB,
    });
    const value = async () =>
      (await registry.getSingleMetric('sluice_buffered_request_bytes')!.get()).values[0]!.value;
    const held = upload(app, MiB, half);
    await until(async () => hasArrived(await value(), MiB / 2));
    const refused = upload(app, MiB, '');
    await refused.received(/^HTTP\/1\.1 502 [\s\S]*"server_error"/);
    held.destroy();
    await until(async () => (await value()) === 0);
    const body = JSON.stringify(ask('Hello?'));
    const served = upload(app, body.length, body);
    await served.received(/^HTTP\/1\.1 200 /);
    await until(async () => (await value()) === 0);
  });
});

describe('hundreds of exchanges with endings of all kinds', () => {
  it('leave no bytes and no permits', async () => {
    const limited = await startLimited(
      { concurrent_requests: 150, tokens_per_minute: 1_000_000 },
      { server: { max_body_bytes: 4000, body_idle_ms: 60, body_timeout_ms: 100 } },
    );
    const { gateway, upstream } = limited;
    let replied = 0;
    upstream.reply(socket => {
      replied++;
      if (replied % 3 === 0) socket.resetAndDestroy();
      else socket.write(replied % 3 === 1 ? whole(200, completion('Yes.')) : whole(500, 'no'));
    });
    const body = JSON.stringify(ask('Hello?'));
    const leaves = (connection: RawConnection) => {
      setTimeout(() => connection.socket.resetAndDestroy(), 10);
      return connection.closed;
    };
    const endings: readonly (() => Promise<unknown>)[] = [
      async () => (await gateway.post(body)).text(),
      async () => (await gateway.post('{')).text(),
      async () => (await gateway.post(' '.repeat(5000))).text(),
      async () => (await limited.send({ model: 'a/unknown' })).text(),
      () => leaves(upload(gateway, 1000, '{"a":')),
      () => leaves(upload(gateway, body.length, body)),
      // Idle, and too slow: both are refused and closed.
      () => upload(gateway, 1000, '{"a":').closed,
      () => dribble(upload(gateway, 1000, '{')),
    ];
    // Total deadlines go by this clock.
    const ticking = setInterval(() => limited.clock.advance(20), 20);
    for (let round = 0; round < 2; round++) {
      const all = Array.from({ length: 200 }, (_, at) => endings[at % endings.length]!().catch(() => {}));
      await Promise.all(all);
      connections.splice(0);
    }
    clearInterval(ticking);
    await expectNothingHeld(limited);
  }, 120_000);
});
