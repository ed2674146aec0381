import { expect, it } from '@jest/globals';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import OpenAI from 'openai';
import { agentsChat } from '../support/clients/agents.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { showsReplies } from '../support/clients/replies.ts';
import { clientKey } from '../support/gateway-under-test.ts';

const house = clientHouse(clientFacts.agentsChat, agentsChat);

showsReplies(house);

it('has no final output of a broken stream and raises its error twice', async () => {
  const openAIClient = new OpenAI({ apiKey: clientKey, baseURL: `${house.sidecar.url}/v1`, maxRetries: 0 });
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: false });
  const runner = new Runner({ tracingDisabled: true, modelProvider });
  const agent = new Agent({ name: 'Tester', model: 'aion-labs/aion-3.5' });
  const run = await runner.run(agent, 'Hello [[sim:reset=40 reasoning_tokens=4 tokens=80]]', {
    stream: true,
  });
  const reading = async () => {
    for await (const _ of run);
  };
  await expect(reading()).rejects.toThrow(/closed the stream unexpectedly/);
  await expect(run.completed).rejects.toThrow(/closed the stream unexpectedly/);
  expect(run.error).toMatchObject({ message: expect.stringContaining('closed the stream unexpectedly') });
  expect(run.newItems).toEqual([]);
});

raisesFailures(house);
