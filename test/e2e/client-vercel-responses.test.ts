import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, it } from '@jest/globals';
import { generateText } from 'ai';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { showsReplies } from '../support/clients/replies.ts';
import { vercelResponses } from '../support/clients/vercel.ts';
import { clientKey } from '../support/gateway-under-test.ts';

describe('the AI SDK over responses with its default settings', () => {
  const house = clientHouse(clientFacts.vercelResponses, vercelResponses);
  showsReplies(house);
  raisesFailures(house);

  it('rejects a whole reply of the interface itself, unless a header asks for a summary', async () => {
    const ask = (headers: Record<string, string>) => {
      const provider = createOpenAI({ apiKey: clientKey, baseURL: `${house.sidecar.url}/v1`, headers });
      // Without `store: false` nothing in the request tells that it comes from a client of OpenAI's.
      return generateText({ model: provider('aion-labs/aion-3.5'), maxRetries: 0, prompt: 'Hello' });
    };
    // It is reasoning in the content of the message that it does not know.
    await expect(ask({})).rejects.toMatchObject({
      message: 'Invalid JSON response',
      statusCode: 200,
      responseBody: expect.stringMatching(/"type":"message"[^\]]*"content":\[\{"type":"reasoning/),
    });
    const { text, reasoningText } = await ask({ 'x-reasoning-placement': 'summary' });
    expect({ text, reasoningText }).toEqual({
      text: expect.stringMatching(/./),
      reasoningText: expect.stringMatching(/./),
    });
  });

  it('receives an error that asks for store: false when it refers to items of an earlier reply', async () => {
    const provider = createOpenAI({ apiKey: clientKey, baseURL: `${house.sidecar.url}/v1` });
    const answer = generateText({
      model: provider('aion-labs/aion-3.5'),
      maxRetries: 0,
      messages: [
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Hi', providerOptions: { openai: { itemId: 'msg_1' } } }],
        },
        { role: 'user', content: 'Go on.' },
      ],
    });
    await expect(answer).rejects.toThrow(/^input\[1\]\.type: must not be 'item_reference'.* store: false\.$/);
  });
});
