import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { allClients } from '../support/clients/all.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;

beforeAll(async () => {
  simulator = await startSimulator();
  // Committed after 50 ms, and a comment every 50 ms from then on.
  const server = { stream_commit_ms: 50, keepalive_ms: 50 };
  const responses = { reasoning_placement: 'summary' as const };
  sidecar = await startSidecar(
    sidecarConfig(simulator.url, { server, responses, messages: { enabled: true } }),
  );
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

const url = () => `${sidecar.url}/v1`;
const slow = 'Hello [[sim:ttft=500 say=Good day.]]';
const slowFailure = 'Hello [[sim:ttft=500 reset=0]]';

describe.each([
  ['/chat/completions', { messages: [{ role: 'user', content: slow }] }],
  ['/responses', { input: slow }],
])('the heartbeat of %s', (path, asked) => {
  it('sends comments before the first event', async () => {
    const reply = await fetch(url() + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'aion-labs/aion-3.5', stream: true, ...asked }),
    });
    expect(await reply.text()).toMatch(/^(: keep-alive\n\n){3,}/);
  });
});

describe.each(allClients)('%s', (_, __, connect) => {
  it('reads a stream that begins with comments', async () => {
    const client = connect({ url: url(), key: clientKey, retries: 0 });
    expect(await client.stream(slow)).toMatchObject({ text: 'Good day.', final: 'Good day.' });
  });

  it('raises an error that is the first event', async () => {
    const client = connect({ url: url(), key: clientKey, retries: 0 });
    await expect(client.stream(slowFailure)).rejects.toThrow(/The upstream provider/);
  });
});
