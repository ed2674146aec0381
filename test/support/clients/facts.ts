/** What a client library makes of this interface: a row of the README's table, held true by `test/e2e/client-*.test.ts`. */
export interface ClientFacts {
  readonly client: string;
  /** The npm packages that are tested. */
  readonly packages: readonly string[];
  readonly endpoint: '/v1/chat/completions' | '/v1/responses';
  /** The configuration that this row is true of; the defaults without it. */
  readonly under?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Takes whole replies and streams of reasoning models. */
  readonly reply: boolean;
  readonly stream: boolean;
  /** Goes through a loop of tool calls, streamed and not. */
  readonly tools: boolean;
  /** Where the client shows reasoning, if it does. */
  readonly reasoning?: string;
  /** Sends a request again that was answered 524, although `x-should-retry: false` asks it not to. */
  readonly repeats_after_524: boolean;
  /** Takes a stream without text for a turn that is not over, and asks again with an assistant message without content: 400. */
  readonly asks_again_when_empty?: true;
}

const everything = { reply: true, stream: true, tools: true };
const chat = { endpoint: '/v1/chat/completions', ...everything } as const;

/** All rows, in the table's order. */
export const clientFacts = {
  openAiChat: {
    ...chat,
    client: 'OpenAI SDK',
    packages: ['openai'],
    reasoning: 'message.reasoning',
    repeats_after_524: false,
  },
  vercelChat: {
    ...chat,
    client: 'Vercel AI SDK',
    packages: ['ai', '@ai-sdk/openai-compatible'],
    reasoning: 'reasoningText',
    repeats_after_524: true,
  },
  langChainChat: {
    ...chat,
    client: 'LangChain JS',
    packages: ['@langchain/openai'],
    repeats_after_524: true,
  },
  agentsChat: {
    ...chat,
    client: 'OpenAI Agents SDK',
    packages: ['@openai/agents'],
    reasoning: 'newItems',
    repeats_after_524: false,
    asks_again_when_empty: true,
  },
} satisfies Record<string, ClientFacts>;
