import Anthropic from '@anthropic-ai/sdk';
import {
  type Client,
  type Connect,
  leaveWithin,
  rolledText,
  rollSchema,
  type ShownUsage,
  type Wish,
} from './client.ts';

/** The Anthropic SDK on messages. */
export const anthropicMessages: Connect = ({ url, key, retries }): Client => {
  // It adds `/v1` itself, and would also send a token of the environment.
  const baseURL = url.replace(/\/v1$/, '');
  const anthropic = new Anthropic({ apiKey: key, authToken: null, baseURL, maxRetries: retries });
  const asked = (
    messages: Anthropic.MessageParam[],
    { model = 'aion-labs/aion-3.5', max_tokens = 2000 }: Wish = {},
  ) => ({ model, max_tokens, messages });
  const user = (content: Anthropic.MessageParam['content']) => ({ role: 'user' as const, content });
  const turn = (params: Anthropic.MessageCreateParamsNonStreaming, streamed: boolean) =>
    streamed ? anthropic.messages.stream(params).finalMessage() : anthropic.messages.create(params);

  return {
    reply: async (question, wish) => shown(await anthropic.messages.create(asked([user(question)], wish))),

    async stream(question, wish) {
      const stream = anthropic.messages.stream(asked([user(question)], wish));
      const pieces: string[] = [];
      stream.on('text', piece => pieces.push(piece));
      const { text: final, ...more } = shown(await stream.finalMessage());
      return { ...more, text: pieces.join(''), final, pieces: pieces.length };
    },

    async roll(question, streamed) {
      const tools = [{ name: 'roll', description: 'Rolls the dice.', input_schema: tooled }];
      const called = await turn({ ...asked([user(question)]), tools }, streamed);
      const uses = called.content.flatMap(block => (block.type === 'tool_use' ? block : []));
      const results = uses.map(({ id }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: rolledText,
      }));
      const { role, content } = called;
      const messages = [user(question), { role, content }, user(results)];
      const { text: answer } = shown(await turn({ ...asked(messages), tools }, streamed));
      return { answer, calls: uses.map(({ input }) => input) };
    },

    async goOn(first, second, streamed) {
      const { role, content } = await turn(asked([user(first)]), streamed);
      return shown(await turn(asked([user(first), { role, content }, user(second)]), streamed)).text;
    },

    async leave(question) {
      const stream = anthropic.messages.stream(asked([user(question)]));
      return leaveWithin(
        stream,
        () => stream.abort(),
        event => (event.type === 'message_delta' ? event.usage.output_tokens : undefined),
      );
    },
  };
};

const tooled = { ...rollSchema, required: [...rollSchema.required] };

const shown = ({ content, usage }: Anthropic.Message) => ({
  text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
  reasoning: content.map(block => (block.type === 'thinking' ? block.thinking : '')).join('') || undefined,
  usage: usageOf(usage),
});

/** `input_tokens` are those that were not cached. */
function usageOf(usage: Anthropic.Usage): ShownUsage {
  const { input_tokens, output_tokens, cache_read_input_tokens, output_tokens_details } = usage;
  const cached = cache_read_input_tokens ?? 0;
  const input = input_tokens + cached;
  const total = input + output_tokens;
  return { input, output: output_tokens, total, cached, reasoning: output_tokens_details?.thinking_tokens };
}
