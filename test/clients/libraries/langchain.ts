import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import {
  type Client,
  type Connect,
  type Connection,
  leaveWithin,
  rolledText,
  rollSchema,
  type ShownUsage,
  type Wish,
} from './client.ts';

/** LangChain's `ChatOpenAI` on chat completions. */
export const langChainChat: Connect = connection =>
  langChainClient(
    connection,
    {},
    message => message.additional_kwargs.reasoning_content as string | undefined,
  );

/** LangChain's `ChatOpenAI` on responses. */
export const langChainResponses: Connect = connection =>
  langChainClient(connection, { useResponsesApi: true }, ({ contentBlocks }) =>
    contentBlocks.map(block => (block.type === 'reasoning' ? block.reasoning : '')).join(''),
  );

type ReasoningOf = (message: AIMessage | AIMessageChunk) => string | undefined;

function langChainClient(
  { url, key, retries }: Connection,
  fields: { useResponsesApi?: boolean },
  reasoningOf: ReasoningOf,
): Client {
  const modelFor = ({ model = 'aion-labs/aion-3.5', max_tokens, continuous }: Wish) => {
    const stream_options = { include_usage: true, continuous_usage_stats: true };
    return new ChatOpenAI({
      ...fields,
      model,
      apiKey: key,
      maxRetries: retries,
      configuration: { baseURL: url },
      ...(max_tokens && { maxTokens: max_tokens }),
      ...(continuous && { modelKwargs: { stream_options } }),
    });
  };

  return {
    async reply(question, wish = {}) {
      const message = await modelFor(wish).invoke(question);
      return { text: message.text, reasoning: reasoningOf(message), usage: usageOf(message) };
    },

    async stream(question, wish = {}) {
      const pieces: string[] = [];
      const whole = await joined(await modelFor(wish).stream(question), chunk => {
        if (chunk.text) pieces.push(chunk.text);
      });
      return {
        text: pieces.join(''),
        final: whole.text,
        pieces: pieces.length,
        reasoning: reasoningOf(whole),
        usage: usageOf(whole),
      };
    },

    async goOn(first, second, streamed) {
      const model = modelFor({});
      const turn = async (messages: BaseMessage[]) =>
        streamed ? joined(await model.stream(messages)) : model.invoke(messages);
      const asked = new HumanMessage(first);
      return (await turn([asked, await turn([asked]), new HumanMessage(second)])).text;
    },

    async roll(question, streamed) {
      const calls: unknown[] = [];
      const roll = tool(
        async wanted => {
          calls.push(wanted);
          return rolledText;
        },
        { name: 'roll', description: 'Rolls the dice.', schema: rollSchema },
      );
      const model = modelFor({}).bindTools([roll]);
      const turn = async (messages: BaseMessage[]) =>
        streamed ? joined(await model.stream(messages)) : model.invoke(messages);
      const messages = [new HumanMessage(question)];
      const called = await turn(messages);
      const results = await Promise.all((called.tool_calls ?? []).map(call => roll.invoke(call)));
      return { answer: (await turn([...messages, called, ...results])).text, calls };
    },

    async leave(question) {
      const controller = new AbortController();
      const { signal } = controller;
      const stream = await modelFor({ continuous: true }).stream(question, { signal });
      return leaveWithin(
        stream,
        () => controller.abort(),
        ({ response_metadata }) =>
          (response_metadata.usage as { completion_tokens?: number } | undefined)?.completion_tokens,
      );
    },
  };
}

async function joined(
  chunks: AsyncIterable<AIMessageChunk>,
  look: (chunk: AIMessageChunk) => void = () => {},
): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of chunks) {
    look(chunk);
    whole = whole ? whole.concat(chunk) : chunk;
  }
  if (!whole) throw new Error('a stream without chunks');
  return whole;
}

const usageOf = ({ usage_metadata: usage }: { usage_metadata?: UsageMetadata | undefined }): ShownUsage => ({
  input: usage?.input_tokens,
  output: usage?.output_tokens,
  total: usage?.total_tokens,
  cached: usage?.input_token_details?.cache_read,
  reasoning: usage?.output_token_details?.reasoning,
});
