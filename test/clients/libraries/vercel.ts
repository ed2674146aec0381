import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import {
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  tool,
} from 'ai';
import {
  type Client,
  type Connect,
  leaveWithin,
  rolledText,
  rollSchema,
  type ShownUsage,
  type Wish,
} from './client.ts';

// It would print what it makes of every request.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

// The provider for OpenRouter does not handle that the cancelling of a stream fails, as it does when the caller has aborted it. An application
// listens to `unhandledRejection`; the runner of these tests would fail the test that runs then.
const { cancel } = ReadableStreamDefaultReader.prototype;
ReadableStreamDefaultReader.prototype.cancel = function (reason) {
  const cancelled = cancel.call(this, reason);
  cancelled.catch(() => {});
  return cancelled;
};

/** The Vercel AI SDK with its provider for servers like this one, on chat completions. */
export const vercelChat: Connect = ({ url, key, retries }) => {
  const settings = { name: 'sluice', apiKey: key, baseURL: url };
  const plain = createOpenAICompatible(settings);
  // The provider writes `stream_options` itself, over what its own options say.
  const continuous = createOpenAICompatible({
    ...settings,
    transformRequestBody: body => ({ ...body, stream_options: { continuous_usage_stats: true } }),
  });
  return vercelClient((model, wish) => (wish.continuous ? continuous : plain)(model), retries);
};

/** The Vercel AI SDK with the provider for OpenRouter, which takes the address of any such server. */
export const vercelOpenRouter: Connect = ({ url, key, retries }) => {
  const settings = { apiKey: key, baseURL: url };
  const plain = createOpenRouter(settings);
  const continuous = createOpenRouter(withFetch(settings));
  return vercelClient((model, wish) => (wish.continuous ? continuous : plain)(model), retries);
};

/** The Vercel AI SDK with its OpenAI provider, on chat completions. */
export const vercelOpenAiChat: Connect = ({ url, key, retries }) => {
  const settings = { apiKey: key, baseURL: url };
  const plain = createOpenAI(settings);
  const continuous = createOpenAI(withFetch(settings));
  return vercelClient((model, wish) => (wish.continuous ? continuous : plain).chat(model), retries);
};

/** The Vercel AI SDK with its OpenAI provider, on responses. */
export const vercelResponses: Connect = ({ url, key, retries }) => {
  const settings = { apiKey: key, baseURL: url };
  const plain = createOpenAI(settings);
  const continuous = createOpenAI(withFetch(settings));
  // Otherwise it refers to items of earlier replies, which are not stored here.
  const providerOptions = { openai: { store: false, forceReasoning: true } };
  return vercelClient(
    (model, wish) => (wish.continuous ? continuous : plain)(model),
    retries,
    providerOptions,
  );
};

/** The Vercel AI SDK with its Anthropic provider, on messages. */
export const vercelMessages: Connect = ({ url, key, retries }) => {
  const anthropic = createAnthropic({ apiKey: key, baseURL: url });
  return vercelClient(model => anthropic(model), retries);
};

/** For providers that have no option for running usage. */
const withFetch = (settings: { apiKey: string; baseURL: string }) => ({
  ...settings,
  fetch: (target: string | URL | Request, init?: RequestInit) =>
    fetch(target, { ...init, body: withRunningUsage(String(init?.body)) }),
});

const withRunningUsage = (body: string): string =>
  JSON.stringify({ ...JSON.parse(body), stream_options: { continuous_usage_stats: true } });

/** The AI SDK's own functions over some provider's models. */
export function vercelClient(
  modelOf: (name: string, wish: Wish) => LanguageModel,
  maxRetries: number,
  providerOptions: { openai?: { store: boolean; forceReasoning: boolean } } = {},
): Client {
  const asked = (prompt: string, wish: Wish = {}) => ({
    model: modelOf(wish.model ?? 'aion-labs/aion-3.5', wish),
    prompt,
    maxRetries,
    providerOptions,
    ...(wish.max_tokens && { maxOutputTokens: wish.max_tokens }),
  });

  return {
    async reply(question, wish) {
      const { text, reasoningText, usage } = await generateText(asked(question, wish));
      return { text, reasoning: reasoningText, usage: usageOf(usage) };
    },

    async stream(question, wish) {
      // What goes wrong comes as a part of the stream as well.
      const result = streamText({ ...asked(question, wish), onError: () => {} });
      const pieces: string[] = [];
      for await (const part of result.stream) {
        if (part.type === 'error') throw part.error;
        if (part.type === 'text-delta') pieces.push(part.text);
      }
      const [final, reasoning, usage] = [await result.text, await result.reasoningText, await result.usage];
      return { text: pieces.join(''), final, pieces: pieces.length, reasoning, usage: usageOf(usage) };
    },

    async roll(question, streamed) {
      const calls: unknown[] = [];
      const roll = tool({
        description: 'Rolls the dice.',
        inputSchema: jsonSchema<{ sides: number }>(rollSchema),
        execute: async wanted => {
          calls.push(wanted);
          return rolledText;
        },
      });
      const wanted = { ...asked(question), tools: { roll }, stopWhen: isStepCount(3) };
      const answer = streamed
        ? await streamText({ ...wanted, onError: () => {} }).text
        : (await generateText(wanted)).text;
      return { answer, calls };
    },

    async goOn(first, second, streamed) {
      const { prompt: _, ...more } = asked(first);
      const turn = async (messages: ModelMessage[]) => {
        const result = streamed
          ? streamText({ ...more, messages })
          : await generateText({ ...more, messages });
        return { text: await result.text, said: (await result.response).messages };
      };
      const messages: ModelMessage[] = [{ role: 'user', content: first }];
      const { said } = await turn(messages);
      return (await turn([...messages, ...said, { role: 'user', content: second }])).text;
    },

    async leave(question) {
      const controller = new AbortController();
      const { stream } = streamText({
        ...asked(question, { continuous: true }),
        abortSignal: controller.signal,
        include: { rawChunks: true },
      });
      return leaveWithin(
        stream,
        () => controller.abort(),
        part => (part.type === 'raw' ? tokensIn(part.rawValue) : undefined),
      );
    },
  };
}

/** Running usage as it is on the wire: the SDK itself shows usage at the end only. */
function tokensIn(chunk: unknown): number | undefined {
  const { usage } = chunk as { usage?: { completion_tokens?: number; output_tokens?: number } };
  return usage?.completion_tokens ?? usage?.output_tokens;
}

const usageOf = (usage: LanguageModelUsage): ShownUsage => ({
  input: usage.inputTokens,
  output: usage.outputTokens,
  total: usage.totalTokens,
  cached: usage.inputTokenDetails.cacheReadTokens,
  reasoning: usage.outputTokenDetails.reasoningTokens,
});
