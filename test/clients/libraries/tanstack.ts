import { chat, EventType, maxIterations, type StreamChunk, toolDefinition } from '@tanstack/ai';
import { openaiCompatibleText } from '@tanstack/ai-openai/compatible';
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

// Its devtools look for a page to show runs on, which would keep a finished test process alive for two seconds.
const page = new EventTarget();
page.addEventListener('tanstack-connect', () => page.dispatchEvent(new Event('tanstack-connect-success')));
Object.assign(globalThis, { __TANSTACK_EVENT_TARGET__: page });

/** TanStack AI with its adapter for OpenAI-compatible servers, on chat completions. */
export const tanStackChat: Connect = connection => tanStackClient(connection, 'chat-completions');

/** TanStack AI with the same adapter, on responses. */
export const tanStackResponses: Connect = connection => tanStackClient(connection, 'responses');

type Api = 'chat-completions' | 'responses';
type Turns = NonNullable<Parameters<typeof chat>[0]['messages']>;

/** It streams every reply; what it calls a whole one is such a stream put together. */
function tanStackClient({ url, key, retries }: Connection, api: Api): Client {
  const asked = (messages: string | Turns, { model = 'aion-labs/aion-3.5', max_tokens }: Wish = {}) => ({
    adapter: openaiCompatibleText(model, { baseURL: url, apiKey: key, maxRetries: retries, api }),
    messages: typeof messages === 'string' ? [{ role: 'user' as const, content: messages }] : messages,
    // Errors are thrown or events; it logs them as well.
    debug: false as const,
    ...(max_tokens && {
      modelOptions: api === 'responses' ? { max_output_tokens: max_tokens } : { max_tokens },
    }),
  });
  const whole = async (options: ReturnType<typeof asked>, streamed: boolean) =>
    streamed
      ? (await read(chat({ ...options, stream: true }))).text
      : await chat({ ...options, stream: false });

  return {
    async reply(question, wish) {
      const { text, reasoning, usage } = await read(chat({ ...asked(question, wish), stream: true }));
      return { text, reasoning, usage };
    },

    stream: (question, wish) => read(chat({ ...asked(question, wish), stream: true })),

    async roll(question, streamed) {
      const calls: unknown[] = [];
      const roll = toolDefinition({
        name: 'roll',
        description: 'Rolls the dice.',
        inputSchema: { ...rollSchema, required: [...rollSchema.required] },
      }).server(async wanted => {
        calls.push(wanted);
        return rolledText;
      });
      const options = { ...asked(question), tools: [roll], agentLoopStrategy: maxIterations(3) };
      return { answer: await whole(options, streamed), calls };
    },

    async goOn(first, second, streamed) {
      const said = await whole(asked(first), streamed);
      const turns: Turns = [
        { role: 'user', content: first },
        { role: 'assistant', content: said },
        { role: 'user', content: second },
      ];
      return whole(asked(turns), streamed);
    },

    async leave(question) {
      const abortController = new AbortController();
      const events = chat({ ...asked(question), abortController, stream: true });
      return leaveWithin(
        events,
        () => abortController.abort(),
        event => (event.type === EventType.RUN_FINISHED ? usageOf(event).output : undefined),
      );
    },
  };
}

/** Reads a run to its end; throws what it says went wrong. */
async function read(events: AsyncIterable<StreamChunk>) {
  const pieces: string[] = [];
  let reasoning = '';
  let usage: ShownUsage = none;
  for await (const event of events) {
    if (event.type === EventType.RUN_ERROR)
      throw Object.assign(new Error(event.message), event.code && { status: Number(event.code) });
    if (event.type === EventType.TEXT_MESSAGE_CONTENT) pieces.push(event.delta);
    if (event.type === EventType.REASONING_MESSAGE_CONTENT) reasoning += event.delta;
    if (event.type === EventType.RUN_FINISHED) usage = usageOf(event);
  }
  const text = pieces.join('');
  return { text, final: text, pieces: pieces.length, reasoning: reasoning || undefined, usage };
}

type Finished = Extract<StreamChunk, { type: typeof EventType.RUN_FINISHED }>;

function usageOf({ usage }: Finished): ShownUsage {
  if (!usage || Array.isArray(usage)) return none;
  return {
    input: usage.promptTokens,
    output: usage.completionTokens,
    total: usage.totalTokens,
    cached: usage.promptTokensDetails?.cachedTokens,
    reasoning: usage.completionTokensDetails?.reasoningTokens,
  };
}

const none: ShownUsage = {
  input: undefined,
  output: undefined,
  total: undefined,
  cached: undefined,
  reasoning: undefined,
};
