import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that systems give to outgoing connections: a server that is restarted finds its port free again. */
const first_port = 10_000;
const last_port = 32_000;

/** A port of 127.0.0.1 without a listener. If another process takes it before it is used, the start fails. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(first_port, last_port);
    if (await isFree(port)) return port;
  }
  throw new Error('a hundred ports are taken');
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
