import { expect, it } from '@jest/globals';
import { rolledText } from '../support/clients/client.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { clientHouse } from '../support/clients/house.ts';
import { rollOverMcp } from '../support/clients/mcp.ts';
import { openAiChat } from '../support/clients/openai.ts';
import { clientKey } from '../support/gateway-under-test.ts';

const house = clientHouse(clientFacts.mcp, openAiChat);

it('offers the tools of an MCP server and answers its calls from there', async () => {
  const connection = { url: `${house.sidecar.url}/v1`, key: clientKey, retries: 0 };
  const { answer, calls } = await rollOverMcp(connection, 'Roll. [[sim:tool calls=2]]');
  expect(calls).toEqual([{ sides: expect.any(Number) }, { sides: expect.any(Number) }]);
  expect(answer).toContain(rolledText);
  expect(answer).toBe((await house.truth()).text);
  expect(house.asked.tools).toEqual([
    {
      type: 'function',
      function: {
        name: 'roll',
        description: 'Rolls the dice.',
        parameters: expect.objectContaining({ $schema: expect.any(String), required: ['sides'] }),
      },
    },
  ]);
});
