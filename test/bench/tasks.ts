import { bodyText } from './conversation.ts';
import { batchBody, batchText, embeddingsBody, embeddingsText } from './embeddings.ts';
import { answer } from './replies.ts';

/** What a closed loop asks for. */
export interface Task {
  readonly path: string;
  readonly body: string;
  /** Whether a whole reply is the upstream's, however a gateway has written it. Throws for what is no JSON. */
  isAnswered(text: string): boolean;
}

interface ChatReply {
  readonly choices?: readonly { readonly message?: { readonly content?: string } }[];
  readonly usage?: { readonly completion_tokens?: number };
}

export const tasks = {
  chat: {
    path: '/v1/chat/completions',
    body: bodyText(),
    isAnswered(text) {
      const { choices, usage } = JSON.parse(text) as ChatReply;
      return choices?.[0]?.message?.content === answer && Boolean(usage?.completion_tokens);
    },
  },
  embeddings: {
    path: '/v1/embeddings',
    body: embeddingsBody,
    isAnswered: text => text === embeddingsText,
  },
  'embeddings-batch': {
    path: '/v1/embeddings',
    body: batchBody,
    isAnswered: text => text === batchText,
  },
} as const satisfies Record<string, Task>;

export type TaskName = keyof typeof tasks;
