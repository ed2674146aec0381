import { agentsChat, agentsResponses } from './agents.ts';
import { anthropicMessages } from './anthropic.ts';
import type { Connect } from './client.ts';
import { type ClientFacts, clientFacts } from './facts.ts';
import { langChainChat, langChainResponses } from './langchain.ts';
import { openAi6Chat, openAiChat } from './openai.ts';
import { openAi6Responses, openAiResponses } from './openai-responses.ts';
import { tanStackChat, tanStackResponses } from './tanstack.ts';
import { vercelChat, vercelMessages, vercelOpenAiChat, vercelOpenRouter, vercelResponses } from './vercel.ts';

/** Every client on either endpoint, with reasoning where it shows it. */
export const allClients: readonly (readonly [string, ClientFacts, Connect])[] = [
  ['the OpenAI SDK on chat', clientFacts.openAiChat, openAiChat],
  ['the OpenAI SDK on responses', clientFacts.openAiSummaries, openAiResponses],
  ['openai 6 on chat', clientFacts.openAi6Chat, openAi6Chat],
  ['openai 6 on responses', clientFacts.openAi6Responses, openAi6Responses],
  ['the AI SDK on chat', clientFacts.vercelChat, vercelChat],
  ["the AI SDK with OpenRouter's provider", clientFacts.vercelOpenRouter, vercelOpenRouter],
  ["the AI SDK with OpenAI's provider on chat", clientFacts.vercelOpenAiChat, vercelOpenAiChat],
  ['the AI SDK on responses', clientFacts.vercelResponses, vercelResponses],
  ['LangChain on chat', clientFacts.langChainChat, langChainChat],
  ['LangChain on responses', clientFacts.langChainResponses, langChainResponses],
  ['TanStack AI on chat', clientFacts.tanStackChat, tanStackChat],
  ['TanStack AI on responses', clientFacts.tanStackResponses, tanStackResponses],
  ['the Agents SDK on chat', clientFacts.agentsChat, agentsChat],
  ['the Agents SDK on responses', clientFacts.agentsResponses, agentsResponses],
  ['the Anthropic SDK on messages', clientFacts.anthropicMessages, anthropicMessages],
  ['the AI SDK on messages', clientFacts.vercelMessages, vercelMessages],
];
