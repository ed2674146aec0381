import OpenAI from 'openai';
import type { ChatCompletion, ChatCompletionMessageParam, CompletionUsage } from 'openai/resources';
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

/** Fields of the interface that the SDK's types do not know. */
interface Reasoning {
  readonly reasoning?: string;
}

/** The `openai` SDK on chat completions. */
export const openAiChat: Connect = ({ url, key, retries }) =>
  openAiClient(new OpenAI({ apiKey: key, baseURL: url, maxRetries: retries }));

/** Its major version before, which many packages still have. What is used of it here has the same types. */
export const openAi6Chat: Connect = ({ url, key, retries }) =>
  openAiClient(new OpenAI6({ apiKey: key, baseURL: url, maxRetries: retries }) as unknown as OpenAI);

function openAiClient(openai: OpenAI): Client {
  const asked = (content: string, { model = 'aion-labs/aion-3.5', max_tokens, continuous }: Wish = {}) => ({
    model,
    messages: [{ role: 'user' as const, content }],
    ...(max_tokens && { max_tokens }),
    // A field that the SDK's types do not know, beside one that they do.
    ...(continuous && { stream_options: { include_usage: true, continuous_usage_stats: true } }),
  });

  return {
    async reply(question, wish) {
      const { choices, usage } = await openai.chat.completions.create(asked(question, wish));
      const message: Reasoning & ChatCompletion['choices'][number]['message'] = choices[0]!.message;
      return { text: message.content ?? '', reasoning: message.reasoning, usage: usageOf(usage) };
    },

    async stream(question, wish) {
      const stream = openai.chat.completions.stream(asked(question, wish));
      const pieces: string[] = [];
      let reasoning = '';
      for await (const { choices } of stream) {
        const { content, reasoning: more }: Reasoning & { content?: string | null } = choices[0]!.delta;
        if (content) pieces.push(content);
        reasoning += more ?? '';
      }
      const { choices, usage } = await stream.finalChatCompletion();
      const final = choices[0]!.message.content ?? '';
      return { text: pieces.join(''), final, pieces: pieces.length, reasoning, usage: usageOf(usage) };
    },

    async roll(question, streamed) {
      const calls: unknown[] = [];
      const roll = {
        type: 'function' as const,
        function: {
          name: 'roll',
          description: 'Rolls the dice.',
          parameters: rollSchema,
          parse: JSON.parse,
          function: (wanted: object) => {
            calls.push(wanted);
            return rolledText;
          },
        },
      };
      const runner = streamed
        ? openai.chat.completions.runTools({ ...asked(question), tools: [roll], stream: true })
        : openai.chat.completions.runTools({ ...asked(question), tools: [roll] });
      return { answer: (await runner.finalContent()) ?? '', calls };
    },

    async goOn(first, second, streamed) {
      const messages: ChatCompletionMessageParam[] = [];
      const turn = async (content: string) => {
        messages.push({ role: 'user', content });
        const params = { ...asked(content), messages };
        const completion = streamed
          ? await openai.chat.completions.stream(params).finalChatCompletion()
          : await openai.chat.completions.create(params);
        const { message } = completion.choices[0]!;
        messages.push(message);
        return message.content ?? '';
      };
      await turn(first);
      return turn(second);
    },

    async leave(question) {
      const params = asked(question, { continuous: true });
      const stream = await openai.chat.completions.create({ ...params, stream: true });
      const abort = () => stream.controller.abort();
      return leaveWithin(stream, abort, ({ usage }) => usage?.completion_tokens);
    },
  };
}

const usageOf = (usage: CompletionUsage | undefined): ShownUsage => ({
  input: usage?.prompt_tokens,
  output: usage?.completion_tokens,
  total: usage?.total_tokens,
  cached: usage?.prompt_tokens_details?.cached_tokens,
  reasoning: usage?.completion_tokens_details?.reasoning_tokens,
});
