import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Exchange } from '../../../../src/gateway/exchange/exchange.ts';
import { runningExchanges } from '../../../../src/mount/running-exchanges.ts';
import { Channel } from '../../../../src/mount/workers/channel.ts';
import { Workers } from '../../../../src/mount/workers/workers.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const ended: string[] = [];
const exchange = (id: string, started_epoch_ms: number): Exchange => {
  const parts = {
    id,
    started_epoch_ms,
    endpoint: { name: 'chat.completions' },
    account: { id: 'acme', key_id: 'key_1' },
    requested_model: 'm'.repeat(1000),
    attempts: [],
    usage: { completion_tokens: 7 },
    replyHeaders: {},
    abort: (why: string) => ended.push(`${id} ${why}`),
  };
  return parts as unknown as Exchange;
};

/** A primary without exchanges, with a worker for each list of them. */
function serverOf(...lists: readonly (readonly Exchange[])[]) {
  const workers = new Workers();
  for (const [at, list] of lists.entries()) {
    const { port1, port2 } = new MessageChannel();
    workers.add(at + 1, new Channel(port1));
    runningExchanges(() => list, { primary: new Channel(port2) });
    closing.push(() => port2.close());
  }
  return runningExchanges(() => [], { workers });
}

describe('the exchanges of a server with workers', () => {
  it('are listed of all of them, the longest first, with bounded names', async () => {
    const server = serverOf([exchange('c', 3), exchange('a', 1)], [exchange('b', 2)]);
    const listed = await server.list(2);
    expect(listed.map(({ request_id }) => request_id)).toEqual(['a', 'b']);
    expect(listed[0]).toMatchObject({ account: 'acme', key_id: 'key_1', completion_tokens: 7 });
    expect(listed[0]!.model).toHaveLength(300);
  });

  it('are ended where they run, and only those that were meant', async () => {
    const server = serverOf([exchange('a', 1)], [exchange('a', 2), exchange('b', 1)]);
    expect(await server.cancel({ request_id: 'a', started_ms: 2 })).toBe(true);
    expect(await server.cancel({ request_id: 'a', started_ms: 3 })).toBe(false);
    expect(ended).toEqual(['a cancelled']);
  });
});
