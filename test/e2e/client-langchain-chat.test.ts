import { describe, expect, it } from '@jest/globals';
import type { AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { rollSchema } from '../support/clients/client.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { langChainChat } from '../support/clients/langchain.ts';
import { showsReplies } from '../support/clients/replies.ts';
import { clientKey } from '../support/gateway-under-test.ts';

const house = clientHouse(clientFacts.langChainChat, langChainChat);

const model = () =>
  new ChatOpenAI({
    model: 'aion-labs/aion-3.5',
    apiKey: clientKey,
    maxRetries: 0,
    configuration: { baseURL: `${house.sidecar.url}/v1` },
  });

showsReplies(house);

it('doubles token counts in response_metadata when chunks are joined, and keeps usage_metadata exact', async () => {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await model().stream('Hello')) whole = whole?.concat(chunk) ?? chunk;
  const { usage } = await house.truth();
  expect(whole?.usage_metadata).toMatchObject({ output_tokens: usage.output });
  expect(whole?.response_metadata.usage).toMatchObject({ completion_tokens: 2 * (usage.output ?? 0) });
});

it('sends its output schema to the upstream', async () => {
  const structured = model().withStructuredOutput<{ sides: number }>({ title: 'Dice', ...rollSchema });
  expect(await structured.invoke('Hello [[sim:say={"sides":7}]]')).toEqual({ sides: 7 });
  expect(house.asked.response_format).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: rollSchema },
  });
});

raisesFailures(house);

describe('LangChain with reasoning under both names', () => {
  showsReplies(clientHouse(clientFacts.langChainBoth, langChainChat));
});
