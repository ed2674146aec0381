import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { script } from '../../../../../plugins/stores/redis/lua-script.ts';
import { RedisConnection } from '../../../../../plugins/stores/redis/redis-connection.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { freePort } from '../../../../support/free-port.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { patience_ms, until } from '../../../../support/until.ts';

const one = script('return 1');
const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const redis = async (): Promise<RedisServer> => {
  const server = await startRedis();
  cleanUps.push(() => server.stop());
  return server;
};

/** A server that does with each connection what it is told. */
const impostor = async (serve: (socket: Socket) => void): Promise<string> => {
  const sockets = new Set<Socket>();
  const server: Server = createServer(socket => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise(resolve => server.close(resolve));
  });
  return `redis://127.0.0.1:${(server.address() as { port: number }).port}`;
};

/** For servers that do not answer. */
const impatient = { connect_timeout_ms: 300, timeout_ms: 200 };
/** For servers that do, on a machine that may be busy. */
const patient = { connect_timeout_ms: 10_000, timeout_ms: 10_000 };

const connect = async (url: string, limits = impatient): Promise<RedisConnection> => {
  const connection = new RedisConnection({ url, ...limits, log: createLog('silent') });
  cleanUps.push(() => connection.close());
  await connection.started();
  return connection;
};
const reasonOf = (running: Promise<unknown>) =>
  running.then(
    () => 'answered',
    (error: Error) => error.message,
  );

describe('a connection to Redis', () => {
  it('runs scripts', async () => {
    const connection = await connect((await redis()).url, patient);
    const echo = script('return { KEYS[1], ARGV[1], #KEYS }');
    expect(await connection.run(echo, ['k'], ['a'])).toEqual(['k', 'a', 1]);
    await expect(connection.run(script('return redis.call("NONSENSE")'), [], [])).rejects.toMatchObject({
      name: 'CommandRejected',
      message: expect.stringContaining('Unknown Redis command'),
    });
    expect(await connection.run(one, [], [])).toBe(1);
    expect(connection.ready).toBe(true);
  });

  it('reports the cause where no server listens', async () => {
    const connection = await connect(`redis://127.0.0.1:${await freePort()}`);
    expect(await reasonOf(connection.run(one, [], []))).toMatch(/ECONNREFUSED/);
  });

  it('fails all waiting commands when the first has waited too long for a silent server', async () => {
    const connection = await connect(await impostor(() => {}));
    const began_ms = performance.now();
    const waiting: Promise<string>[] = [];
    for (let at = 0; at < 5; at++) {
      waiting.push(reasonOf(connection.run(one, [], [])));
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    expect(new Set(await Promise.all(waiting))).toEqual(
      new Set([expect.stringMatching(/^no answer within \d+ ms$/)]),
    );
    const took_ms = performance.now() - began_ms;
    expect(took_ms).toBeGreaterThan(150);
    expect(took_ms).toBeLessThan(patience_ms(2000));
    expect(connection.ready).toBe(false);
  });

  it('gives up on a server whose login takes too long', async () => {
    const began_ms = performance.now();
    const url = await impostor(() => {});
    const connection = await connect(url.replace('//', '//user:secret@'));
    expect(performance.now() - began_ms).toBeLessThan(patience_ms(3000));
    expect(await reasonOf(connection.run(one, [], []))).toBe('no connection within 300 ms');
  });

  it.each([
    [
      'speaks another protocol',
      (socket: Socket) => void socket.on('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
    ],
    ['hangs up', (socket: Socket) => void socket.on('data', () => socket.end())],
    ['resets', (socket: Socket) => void socket.on('data', () => socket.resetAndDestroy())],
  ])('survives a server that %s', async (_, serve) => {
    const connection = await connect(await impostor(serve));
    expect(await reasonOf(connection.run(one, [], []))).not.toBe('answered');
  });

  it('does not mistake a long turn of its own process for a silent server', async () => {
    const connection = await connect((await redis()).url, { ...patient, timeout_ms: 100 });
    expect(await connection.run(one, [], [])).toBe(1);
    const running = connection.run(one, [], []);
    await new Promise(setImmediate);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    expect(await running).toBe(1);
    expect(connection.ready).toBe(true);
  });

  it('reconnects by itself', async () => {
    const server = await redis();
    const connection = await connect(server.url, patient);
    for (let time = 0; time < 3; time++) {
      await server.restart();
      await until(() => !connection.ready);
      await until(() => connection.ready);
      expect(await connection.run(one, [], [])).toBe(1);
    }
  });

  it('is renewed when the server says that it is not the primary, whose name may lead elsewhere by now', async () => {
    const connection = await connect((await redis()).url, patient);
    const replica = script('return redis.error_reply("READONLY You can not write against a replica.")');
    expect(await reasonOf(connection.run(replica, [], []))).toContain('READONLY');
    expect(connection.ready).toBe(false);
    await until(() => connection.ready);
    expect(await connection.run(one, [], [])).toBe(1);
  });

  it('ends at once, also while it connects and while it waits to reconnect', async () => {
    const nobody = `redis://127.0.0.1:${await freePort()}`;
    const silent = (await impostor(() => {})).replace('//', '//:secret@');
    for (const url of [nobody, silent]) {
      const connection = new RedisConnection({
        url,
        connect_timeout_ms: 60_000,
        timeout_ms: 100,
        log: createLog('silent'),
      });
      void connection.started();
      await new Promise(resolve => setTimeout(resolve, 50));
      const began_ms = performance.now();
      await connection.close();
      expect(performance.now() - began_ms).toBeLessThan(patience_ms(1000));
      expect(await reasonOf(connection.run(one, [], []))).toMatch(/closed|ECONNREFUSED/);
    }
  });

  it('fails waiting commands when it is closed', async () => {
    const connection = await connect(await impostor(() => {}), { ...impatient, timeout_ms: 60_000 });
    const running = reasonOf(connection.run(one, [], []));
    await connection.close();
    expect(await running).toBe('the connection has been closed');
  });
});
