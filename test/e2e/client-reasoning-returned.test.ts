import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { allClients } from '../support/clients/all.ts';
import { rolledText } from '../support/clients/client.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;

beforeAll(async () => {
  simulator = await startSimulator();
  sidecar = await startSidecar(sidecarConfig(simulator.url, { messages: { enabled: true } }));
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

describe.each(allClients)('%s', (_, { endpoint, reply, stream, returns_reasoning }, connect) => {
  const title = returns_reasoning
    ? 'answers a model that demands the reasoning of a tool call back'
    : 'is refused by a model that demands the reasoning of a tool call back';
  const ways = [...(reply ? [false] : []), ...(stream ? [true] : [])];
  const rolls = async (url: string, streamed: boolean) => {
    const { refused } = simulator.stats;
    const { roll } = connect({ url, key: clientKey, retries: 0 });
    // The AI SDK ends a stream without an error after a step that failed.
    const answered = await roll('Roll. [[sim:tool require_reasoning=any]]', streamed).then(
      ({ answer }) => answer.includes(rolledText),
      () => false,
    );
    expect(answered).toBe(returns_reasoning === true);
    expect(simulator.stats.refused - refused).toBe(answered ? 0 : 1);
  };

  it.each(ways)(`${title} (stream: %s)`, streamed => rolls(`${sidecar.url}/v1`, streamed));

  if (endpoint !== '/v1/responses') it(`${title} without the gateway`, () => rolls(simulator.url, true));
});
