import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { agentsChat, agentsResponses } from '../support/clients/agents.ts';
import type { Connect } from '../support/clients/client.ts';
import { type ClientFacts, clientFacts } from '../support/clients/facts.ts';
import { langChainChat, langChainResponses } from '../support/clients/langchain.ts';
import { openAiChat } from '../support/clients/openai.ts';
import { openAiResponses } from '../support/clients/openai-responses.ts';
import { vercelChat, vercelResponses } from '../support/clients/vercel.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

const clients: readonly [string, ClientFacts, Connect][] = [
  ['the OpenAI SDK, chat', clientFacts.openAiChat, openAiChat],
  ['the OpenAI SDK, responses', clientFacts.openAiResponses, openAiResponses],
  ['the AI SDK, chat', clientFacts.vercelChat, vercelChat],
  ['the AI SDK, responses', clientFacts.vercelResponses, vercelResponses],
  ['LangChain, chat', clientFacts.langChainChat, langChainChat],
  ['LangChain, responses', clientFacts.langChainResponses, langChainResponses],
  ['the Agents SDK, chat', clientFacts.agentsChat, agentsChat],
  ['the Agents SDK, responses', clientFacts.agentsResponses, agentsResponses],
];

let simulator: Simulator;
let sidecar: SidecarProcess;

beforeAll(async () => {
  simulator = await startSimulator();
  sidecar = await startSidecar(sidecarConfig(simulator.url, { server: { non_stream_timeout_ms: 300 } }));
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

/** How often the request of each client reaches the upstream, when it may be repeated once. All at the same time. */
async function requestsFor(directive: string): Promise<Record<string, number>> {
  const counts = clients.map(async ([name, , connect]) => {
    const client = connect({ url: `${sidecar.url}/v1`, key: clientKey, retries: 1 });
    const question = `Hello from ${name}. ${directive}`;
    await expect(client.reply(question)).rejects.toThrow();
    return [name, simulator.requests.filter(({ text }) => text.includes(question)).length] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

describe("the clients' own retries", () => {
  it('are made after 502, when nothing has been generated', async () => {
    const expected = Object.fromEntries(clients.map(([name]) => [name, 2]));
    expect(await requestsFor('[[sim:status=503]]')).toEqual(expected);
  });

  it('are made by some after 524, when generation goes on and is billed', async () => {
    const expected = clients.map(([name, { repeats_after_524 }]) => [name, repeats_after_524 ? 2 : 1]);
    expect(await requestsFor('[[sim:ttft=1000]]')).toEqual(Object.fromEntries(expected));
  });
});
