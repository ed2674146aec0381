import OpenAI from 'openai';
import type {
  ResponseInput,
  Response as ResponseObject,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import OpenAI6 from 'openai-6';
import {
  type Client,
  type Connect,
  leaveWithin,
  rolledText,
  rollSchema,
  type ShownUsage,
  type Wish,
} from './client.ts';

/** The `openai` SDK on responses. */
export const openAiResponses: Connect = ({ url, key, retries }) =>
  openAiClient(new OpenAI({ apiKey: key, baseURL: url, maxRetries: retries }));

/** Its major version before. What is used of it here has the same types. */
export const openAi6Responses: Connect = ({ url, key, retries }) =>
  openAiClient(new OpenAI6({ apiKey: key, baseURL: url, maxRetries: retries }) as unknown as OpenAI);

function openAiClient(openai: OpenAI): Client {
  const asked = (
    input: string | ResponseInput,
    { model = 'aion-labs/aion-3.5', max_tokens, continuous }: Wish = {},
  ) => ({
    model,
    input,
    ...(max_tokens && { max_output_tokens: max_tokens }),
    // A field that the SDK's types do not know, beside one that they do.
    ...(continuous && { stream_options: { include_obfuscation: false, continuous_usage_stats: true } }),
  });

  const tools = [{ type: 'function' as const, name: 'roll', parameters: rollSchema, strict: true }];
  const turn = (input: ResponseInput, streamed: boolean) =>
    streamed
      ? openai.responses.stream({ ...asked(input), tools }).finalResponse()
      : openai.responses.create({ ...asked(input), tools });

  return {
    async reply(question, wish) {
      const response = await openai.responses.create(asked(question, wish));
      const { output_text: text, usage } = response;
      return { text, reasoning: reasoningOf(response), usage: usageOf(usage) };
    },

    async stream(question, wish) {
      const stream = openai.responses.stream(asked(question, wish));
      const pieces: string[] = [];
      for await (const event of stream)
        if (event.type === 'response.output_text.delta') pieces.push(event.delta);
      const response = await stream.finalResponse();
      return {
        text: pieces.join(''),
        final: response.output_text,
        pieces: pieces.length,
        reasoning: reasoningOf(response),
        usage: usageOf(response.usage),
      };
    },

    async roll(question, streamed) {
      const input: ResponseInput = [{ role: 'user', content: question }];
      const { output } = await turn(input, streamed);
      const called = output.flatMap(item => (item.type === 'function_call' ? item : []));
      input.push(
        ...(output as ResponseInput),
        ...called.map(({ call_id }) => ({
          type: 'function_call_output' as const,
          call_id,
          output: rolledText,
        })),
      );
      const { output_text: answer } = await turn(input, streamed);
      return { answer, calls: called.map(call => JSON.parse(call.arguments) as unknown) };
    },

    async goOn(first, second, streamed) {
      const input: ResponseInput = [{ role: 'user', content: first }];
      const { output } = await turn(input, streamed);
      input.push(...(output as ResponseInput), { role: 'user', content: second });
      return (await turn(input, streamed)).output_text;
    },

    async leave(question) {
      const params = asked(question, { continuous: true });
      const stream = await openai.responses.create({ ...params, stream: true });
      return leaveWithin(stream, () => stream.controller.abort(), tokensIn);
    },
  };
}

/** The text of all parts of reasoning, wherever they stand. */
function reasoningOf({ output }: Pick<ResponseObject, 'output'>): string | undefined {
  const parts = output.flatMap(item => [
    ...('content' in item ? (item.content ?? []) : []),
    ...('summary' in item ? item.summary : []),
  ]) as { type: string; text: string }[];
  const texts = parts.filter(({ type }) => /^(reasoning|summary)/.test(type)).map(({ text }) => text);
  return texts.length > 0 ? texts.join('') : undefined;
}

/** Running usage, which the SDK's types do not know. */
const tokensIn = (event: ResponseStreamEvent): number | undefined =>
  (event as { usage?: { output_tokens?: number } }).usage?.output_tokens;

const usageOf = (usage: ResponseUsage | undefined): ShownUsage => ({
  input: usage?.input_tokens,
  output: usage?.output_tokens,
  total: usage?.total_tokens,
  cached: usage?.input_tokens_details.cached_tokens,
  reasoning: usage?.output_tokens_details.reasoning_tokens,
});
