import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { describe, expect, it } from '@jest/globals';
import { generateText, jsonSchema, Output, streamText } from 'ai';
import { rollSchema } from '../support/clients/client.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { showsReplies } from '../support/clients/replies.ts';
import { vercelChat } from '../support/clients/vercel.ts';
import { clientKey } from '../support/gateway-under-test.ts';

const house = clientHouse(clientFacts.vercelChat, vercelChat);

const asked = (prompt: string) => ({
  model: createOpenAICompatible({
    name: 'sluice',
    apiKey: clientKey,
    baseURL: `${house.sidecar.url}/v1`,
    supportsStructuredOutputs: true,
  })('aion-labs/aion-3.5'),
  prompt,
  maxRetries: 0,
});

showsReplies(house);

describe('a stream of the AI SDK that breaks in its answer', () => {
  it('ends with finish reason error and reports the cause to onError, not in the text stream', async () => {
    const errors: unknown[] = [];
    const { textStream, text, finishReason } = streamText({
      ...asked('Hello [[sim:reset=40 reasoning_tokens=4 tokens=80]]'),
      onError: ({ error }) => void errors.push(error),
    });
    let pieces = '';
    for await (const piece of textStream) pieces += piece;
    expect(pieces).not.toBe('');
    expect(await text).toBe(pieces);
    expect(await finishReason).toBe('error');
    expect(errors).toEqual([expect.objectContaining({ type: 'provider_error', isRetryable: false })]);
  });
});

it('sends its output schema to the upstream', async () => {
  const { output } = await generateText({
    ...asked('Hello [[sim:say={"sides":7}]]'),
    output: Output.object({ schema: jsonSchema<{ sides: number }>(rollSchema) }),
  });
  expect(output).toEqual({ sides: 7 });
  expect(house.asked.response_format).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: rollSchema },
  });
});

raisesFailures(house);
