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
    sidecarConfig(simulator.url, { responses: { reasoning_placement: 'summary' } }),
  );
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

/** The reasoning of the assistant's turn before the tool's answer, under either name, as the upstream last received it. */
function returnedReasoning(): unknown {
  const { messages } = simulator.requests.at(-1)!.body as { messages: Record<string, unknown>[] };
  const turn = messages.find(({ tool_calls }) => tool_calls);
  return turn?.reasoning_content ?? turn?.reasoning;
}

describe.each(allClients)('%s', (_, { endpoint, reply, stream, returns_reasoning }, connect) => {
  const returned = returns_reasoning ? expect.stringContaining('The user mentions "Roll"') : undefined;
  const title = returns_reasoning
    ? 'sends the reasoning of a tool call back with the answer of the tool'
    : 'sends no reasoning back with the answer of a tool';
  const ways = [...(reply ? [false] : []), ...(stream ? [true] : [])];
  const roll = (url: string, streamed: boolean) =>
    connect({ url, key: clientKey, retries: 0 }).roll('Roll. [[sim:tool]]', streamed);

  it.each(ways)(`${title} (stream: %s)`, async streamed => {
    await roll(`${sidecar.url}/v1`, streamed);
    expect(returnedReasoning()).toEqual(returned);
  });

  if (endpoint === '/v1/chat/completions')
    it(`${title} without the gateway`, async () => {
      await roll(simulator.url, true);
      expect(returnedReasoning()).toEqual(returned);
    });
});
