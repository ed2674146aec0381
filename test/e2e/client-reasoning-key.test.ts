import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { agentsChat } from '../support/clients/agents.ts';
import { langChainChat } from '../support/clients/langchain.ts';
import { openAiChat } from '../support/clients/openai.ts';
import { vercelChat } from '../support/clients/vercel.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

const clients = [
  ['the OpenAI SDK', openAiChat],
  ['the AI SDK', vercelChat],
  ['LangChain', langChainChat],
  ['the Agents SDK', agentsChat],
] as const;

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ reasoning: 'tags' });
});

afterAll(() => simulator?.close());

describe.each([
  ['both', ['the OpenAI SDK', 'the AI SDK', 'LangChain', 'the Agents SDK']],
  ['reasoning_content', ['the AI SDK', 'LangChain']],
] as const)('clients with the reasoning key %s', (reasoning_key, readers) => {
  let sidecar: SidecarProcess;

  beforeAll(async () => {
    sidecar = await startSidecar(sidecarConfig(simulator.url, { chat_completions: { reasoning_key } }));
  });

  afterAll(() => sidecar?.stop());

  it.each(clients)(
    '%s shows reasoning exactly once, or never if it does not know the key',
    async (name, connect) => {
      const { reply, stream } = connect({ url: `${sidecar.url}/v1`, key: clientKey, retries: 0 });
      const [whole, streamed] = [await reply('Hello'), await stream('Hello')];
      const expected = readers.some(reader => reader === name)
        ? expect.stringMatching(/^The user mentions "Hello"(?!.*The user)/s)
        : undefined;
      expect([whole.reasoning || undefined, streamed.reasoning || undefined]).toEqual([expected, expected]);
      expect(streamed.text).toBe(whole.text);
      expect(whole.text).toMatch(/^You asked about "Hello"/);
    },
  );
});
