/** What a client library makes of this interface: a row of the table in docs/reference/clients.md, held true by the tests beside it. */
export interface ClientFacts {
  readonly client: string;
  /** The npm packages that are tested. */
  readonly packages: readonly string[];
  readonly endpoint: '/v1/chat/completions' | '/v1/responses' | '/v1/messages';
  /** The client's own setting without which it does not work. */
  readonly needs?: string;
  /** The gateway's configuration that this row is true of; the defaults without it. */
  readonly under?: Readonly<Record<string, Readonly<Record<string, string | boolean>>>>;
  /** Where the client shows reasoning, if it does. */
  readonly reasoning?: string;
  /** Sends the reasoning of a tool call back with the tool's answer. */
  readonly returns_reasoning?: true;
  /** Shows usage while a stream goes on. */
  readonly running_usage: boolean;
  /** Has no whole replies on the wire, and so no 524. */
  readonly always_streams?: true;
  /** Sends a request again that was answered 524, although `x-should-retry: false` asks it not to. */
  readonly repeats_after_524: boolean;
  /** What it throws when `max_tokens` is reached while reasoning; without it its text is empty then. */
  readonly capped?: { readonly reply?: string; readonly stream: string };
}

const chat = { endpoint: '/v1/chat/completions', running_usage: true } as const;
const responses = { endpoint: '/v1/responses', running_usage: true, returns_reasoning: true } as const;
/** Usage is in the first and last events only. */
const messages = {
  endpoint: '/v1/messages',
  running_usage: false,
  under: { messages: { enabled: true } },
} as const;
const asItem = { under: { responses: { reasoning_placement: 'item' } } };
const asSummary = { under: { responses: { reasoning_placement: 'summary' } } };

const openAi = { client: 'OpenAI SDK', packages: ['openai'], repeats_after_524: false };
const openAi6 = { ...openAi, packages: ['openai-6'] };
const vercel = { client: 'Vercel AI SDK', repeats_after_524: true };
const vercelOpenAi = { ...vercel, packages: ['ai', '@ai-sdk/openai'] };
const langChain = { client: 'LangChain JS', packages: ['@langchain/openai'], repeats_after_524: true };
const agents = { client: 'OpenAI Agents SDK', packages: ['@openai/agents'], repeats_after_524: false };
const tanStack = {
  client: 'TanStack AI',
  packages: ['@tanstack/ai', '@tanstack/ai-openai'],
  always_streams: true as const,
  repeats_after_524: false,
  running_usage: false,
};
const incomplete = 'ended with unsuccessful terminal state "response.incomplete"';
const agentsOnItems = { ...agents, ...responses, capped: { reply: incomplete, stream: incomplete } };

/** All rows, in the table's order. */
export const clientFacts = {
  openAiChat: { ...openAi, ...chat, reasoning: 'message.reasoning' },
  openAiResponses: { ...openAi, ...responses, reasoning: 'output[0].content' },
  openAiSummaries: { ...openAi, ...responses, ...asSummary, reasoning: 'output[0].summary' },
  openAi6Chat: { ...openAi6, ...chat, reasoning: 'message.reasoning' },
  openAi6Responses: { ...openAi6, ...responses, reasoning: 'output[0].content' },
  vercelChat: {
    ...vercel,
    ...chat,
    packages: ['ai', '@ai-sdk/openai-compatible'],
    reasoning: 'reasoningText',
    returns_reasoning: true as const,
  },
  vercelOpenRouter: {
    ...vercel,
    ...chat,
    packages: ['ai', '@openrouter/ai-sdk-provider'],
    needs: "process.on('unhandledRejection', log) // for streams it aborts",
    reasoning: 'reasoningText',
  },
  vercelOpenAiChat: { ...vercelOpenAi, ...chat },
  vercelResponses: {
    ...vercelOpenAi,
    ...responses,
    needs: 'providerOptions.openai: { store: false, forceReasoning: true }',
    reasoning: 'reasoningText',
  },
  langChainChat: { ...langChain, ...chat, reasoning: 'additional_kwargs.reasoning_content' },
  langChainResponses: { ...langChain, ...responses, running_usage: false, reasoning: 'contentBlocks' },
  tanStackChat: { ...chat, ...tanStack, reasoning: 'REASONING_MESSAGE_CONTENT' },
  tanStackResponses: {
    ...responses,
    ...tanStack,
    reasoning: 'REASONING_MESSAGE_CONTENT',
    capped: { reply: 'max_output_tokens', stream: 'max_output_tokens' },
  },
  agentsChat: {
    ...agents,
    ...chat,
    reasoning: 'rawItem.rawContent',
    returns_reasoning: true as const,
    // It takes a stream without text for a turn that is not over, and asks again with an empty message.
    capped: { stream: '400 messages[1].content: must be a string' },
  },
  agentsResponses: { ...agentsOnItems, reasoning: 'rawItem.content' },
  agentsItems: { ...agentsOnItems, ...asItem, reasoning: 'rawItem.providerData.content' },
  anthropicMessages: {
    ...messages,
    client: 'Anthropic SDK',
    packages: ['@anthropic-ai/sdk'],
    reasoning: 'thinking',
    returns_reasoning: true as const,
    repeats_after_524: false,
  },
  vercelMessages: {
    ...vercel,
    ...messages,
    packages: ['ai', '@ai-sdk/anthropic'],
    reasoning: 'reasoningText',
    returns_reasoning: true as const,
  },
  instructor: {
    ...chat,
    client: 'Instructor',
    packages: ['@instructor-ai/instructor', 'openai'],
    running_usage: false,
    repeats_after_524: false,
  },
  mcp: {
    ...chat,
    client: 'MCP client',
    packages: ['@modelcontextprotocol/sdk', 'openai'],
    reasoning: 'message.reasoning',
    returns_reasoning: true as const,
    repeats_after_524: false,
  },
} satisfies Record<string, ClientFacts>;
