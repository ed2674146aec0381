import type { clientFacts } from '../facts.ts';
import { agentsChat, agentsItems, agentsResponses } from './agents.ts';
import { anthropicMessages } from './anthropic.ts';
import type { Connect } from './client.ts';
import { langChainChat, langChainResponses } from './langchain.ts';
import { openAi6Chat, openAiChat } from './openai.ts';
import { openAi6Responses, openAiResponses } from './openai-responses.ts';
import { tanStackChat, tanStackResponses } from './tanstack.ts';
import { vercelChat, vercelMessages, vercelOpenAiChat, vercelOpenRouter, vercelResponses } from './vercel.ts';

/** A client by its row of the facts. */
export type ClientName = Exclude<keyof typeof clientFacts, 'instructor' | 'mcp'>;

/** Every client whose replies are shown as text. */
export const clients: Readonly<Record<ClientName, Connect>> = {
  openAiChat,
  openAiResponses,
  openAiSummaries: openAiResponses,
  openAi6Chat,
  openAi6Responses,
  vercelChat,
  vercelOpenRouter,
  vercelOpenAiChat,
  vercelResponses,
  langChainChat,
  langChainResponses,
  tanStackChat,
  tanStackResponses,
  agentsChat,
  agentsResponses,
  agentsItems,
  anthropicMessages,
  vercelMessages,
};
