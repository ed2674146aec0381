import { freePort } from '../../support/free-port.ts';
import { load_core } from '../children.ts';
import { type Surroundings, Unavailable } from './contestant.ts';

/** The URL of a Redis that keeps nothing, beside the load generator: what it costs itself is not the gateway's. */
export async function redisFor({ children, directory }: Surroundings): Promise<string> {
  const port = await freePort();
  const network = ['--port', String(port), '--bind', '127.0.0.1'];
  const args = [...network, '--dir', directory, '--save', '', '--appendonly', 'no'];
  const redis = children.start(load_core, 'redis-server', args);
  try {
    await redis.printed(/Ready to accept connections/);
  } catch (cause) {
    throw new Unavailable(`redis-server cannot be started: ${(cause as Error).message}`);
  }
  return `redis://127.0.0.1:${port}`;
}
