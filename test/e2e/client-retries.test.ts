import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { allClients } from '../support/clients/all.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;

beforeAll(async () => {
  simulator = await startSimulator();
  sidecar = await startSidecar(
    sidecarConfig(simulator.url, { server: { non_stream_timeout_ms: 1500 }, messages: { enabled: true } }),
  );
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

/** How often the request of each client reaches the upstream, when it may be repeated once. All at the same time. */
async function requestsFor(
  clients: typeof allClients,
  ask: 'reply' | 'stream',
  directive: string,
): Promise<Record<string, number>> {
  const counts = clients.map(async ([name, , connect]) => {
    const client = connect({ url: `${sidecar.url}/v1`, key: clientKey, retries: 1 });
    const question = `Hello from ${name}. ${directive}`;
    await expect(client[ask](question)).rejects.toThrow();
    return [name, simulator.requests.filter(({ text }) => text.includes(question)).length] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

describe('the built-in retries of the clients', () => {
  it('follow a 502, when nothing has been generated', async () => {
    const expected = Object.fromEntries(allClients.map(([name]) => [name, 2]));
    expect(await requestsFor(allClients, 'stream', '[[sim:status=503]]')).toEqual(expected);
  });

  it('follow a 524 in some clients, while generation continues and is billed', async () => {
    const clients = allClients.filter(([, { always_streams }]) => !always_streams);
    const expected = clients.map(([name, { repeats_after_524 }]) => [name, repeats_after_524 ? 2 : 1]);
    expect(await requestsFor(clients, 'reply', '[[sim:ttft=4000]]')).toEqual(Object.fromEntries(expected));
  });
});
