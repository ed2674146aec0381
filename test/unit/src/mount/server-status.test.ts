import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { ServerStatus } from '../../../../src/mount/server-status.ts';
import { Channel } from '../../../../src/mount/workers/channel.ts';
import { Workers } from '../../../../src/mount/workers/workers.ts';
import type { ProcessStatus, ProviderStatus } from '../../../../src/records/define-extension.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const provider = (seen: Partial<ProviderStatus>): ProviderStatus => ({
  name: 'gpu',
  healthy: true,
  breaker: { state: 'closed', retry_in_ms: 0, share: 1 },
  bulkhead: { in_flight: 1, queued: 2, hasPermit: true },
  ...seen,
});

const status = (seen: Partial<ProcessStatus>): ProcessStatus => ({
  in_flight: 1,
  ready: true,
  conditions: [],
  providers: [provider({})],
  ...seen,
});

/** A server of a primary and workers that see this. */
function serverOf(own: ProcessStatus, seen: readonly ProcessStatus[]): ServerStatus {
  const workers = new Workers();
  workers.size = seen.length;
  const server = new ServerStatus(() => own, new Registry(), { workers });
  for (const [at, ofWorker] of seen.entries()) {
    const { port1, port2 } = new MessageChannel();
    workers.add(at + 1, new Channel(port1));
    const worker = new ServerStatus(() => ofWorker, new Registry(), { primary: new Channel(port2) });
    closing.push(
      () => void worker.close(),
      () => port2.close(),
    );
  }
  return server;
}

describe('the status of a server with workers', () => {
  it('is ready while one of the workers is, and says how many are and what each of them says', async () => {
    const stopping = status({ ready: false, conditions: ['it shuts down'] });
    expect(await serverOf(status({}), [status({}), stopping]).all()).toMatchObject({
      in_flight: 3,
      ready: true,
      conditions: ['1 of 2 workers are ready', 'worker 2: it shuts down'],
    });
    expect((await serverOf(status({}), [stopping, stopping]).all()).ready).toBe(false);
    expect((await serverOf(stopping, [status({}), status({})]).all()).ready).toBe(false);
  });

  it('has the worst of what the processes see of a provider, and the sums of what they have there', async () => {
    const open = { state: 'open', retry_in_ms: 500, share: 0 } as const;
    const worse = provider({
      healthy: false,
      breaker: open,
      bulkhead: { in_flight: 4, queued: 5, hasPermit: false },
    });
    const { providers } = await serverOf(status({}), [status({ providers: [worse] }), status({})]).all();
    expect(providers).toEqual([
      { name: 'gpu', healthy: false, breaker: open, bulkhead: { in_flight: 6, queued: 9, hasPermit: false } },
    ]);
  });
});
