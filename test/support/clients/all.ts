import { agentsChat, agentsSummaries } from './agents.ts';
import type { Connect } from './client.ts';
import { type ClientFacts, clientFacts } from './facts.ts';
import { langChainChat, langChainResponses } from './langchain.ts';
import { openAiChat } from './openai.ts';
import { openAiResponses } from './openai-responses.ts';
import { vercelChat, vercelResponses } from './vercel.ts';

/** Every client on either endpoint, with reasoning where it shows it. */
export const allClients: readonly (readonly [string, ClientFacts, Connect])[] = [
  ['the OpenAI SDK on chat', clientFacts.openAiChat, openAiChat],
  ['the OpenAI SDK on responses', clientFacts.openAiSummaries, openAiResponses],
  ['the AI SDK on chat', clientFacts.vercelChat, vercelChat],
  ['the AI SDK on responses', clientFacts.vercelSummaries, vercelResponses],
  ['LangChain on chat', clientFacts.langChainChat, langChainChat],
  ['LangChain on responses', clientFacts.langChainSummaries, langChainResponses],
  ['the Agents SDK on chat', clientFacts.agentsChat, agentsChat],
  ['the Agents SDK on responses', clientFacts.agentsSummaries, agentsSummaries],
];
