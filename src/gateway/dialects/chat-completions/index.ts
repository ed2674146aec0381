import { z } from 'zod';
import type { ChatRequest, Choice, ReplyMessage } from '../../exchange/canonical.ts';
import { defineDialect } from '../define-dialect.ts';
import { openAiErrorBody } from '../openai-error.ts';
import { parseBody } from '../request-schema/first-fault.ts';
import { present, sharedRequest } from '../request-schema/shared-fields.ts';
import {
  setAsideInMessages,
  setAsideStreamOptions,
  setAsideUnknown,
} from '../request-schema/unknown-fields.ts';
import { chatRequest, forwardedParameters } from './chat-request.ts';
import { chatStream, named, type ReasoningNames, reasoningNames } from './chat-stream.ts';

const knownFields = new Set(Object.keys(chatRequest.shape));

const schema = z.strictObject({
  reasoning_key: z
    .enum(['reasoning', 'reasoning_content', 'both'])
    .default('reasoning')
    .describe(
      'What reasoning is called in messages and deltas: `reasoning`; `reasoning_content`, the older name and the only one that some clients read; `both`, under each name.',
    ),
});

/** OpenAI's chat completions. */
export const chatCompletions = defineDialect({
  name: 'chat.completions',
  paths: { '/v1/chat/completions': ['POST'] },
  public: false,
  errorBody: openAiErrorBody,
  options: { section: 'chat_completions', schema },
  create({ reasoning_key }) {
    const names = reasoningNames[reasoning_key];
    return {
      parse: parseChatRequest,

      renderReply: (identity, reply) =>
        JSON.stringify({
          id: `chatcmpl-${identity.key}`,
          object: 'chat.completion',
          created: identity.created,
          model: identity.model,
          choices: reply.choices.map(choice => renderChoice(choice, names)),
          usage: reply.usage,
        }),

      renderStream: identity => chatStream(identity, names),
    };
  },
});

/** A chat completion request in the canonical form. Throws `invalid_request` naming the first field at fault. */
function parseChatRequest(body: Record<string, unknown>): ChatRequest {
  const from = parseBody(chatRequest, body);
  const { max_tokens, max_completion_tokens, stop, tools, n } = from;
  const request = sharedRequest(from, from.messages);
  // The newer name takes precedence.
  const own = { max_tokens: max_completion_tokens ?? max_tokens, stop: stop?.length ? stop : null, tools, n };
  Object.assign(request, present(own));
  if (max_completion_tokens != null)
    request.client = { field_names: { max_tokens: 'max_completion_tokens' } };
  for (const name in forwardedParameters) {
    const value = from[name as keyof typeof forwardedParameters];
    if (value != null) request.parameters[name] = value;
  }
  setAsideUnknown(request, body, knownFields);
  setAsideStreamOptions(request, body);
  setAsideInMessages(request, body.messages);
  return request;
}

function renderChoice(choice: Choice, names: ReasoningNames): object {
  const { index, message, finish_reason, logprobs } = choice;
  const shown = renderMessage(message, names);
  return { index, message: shown, finish_reason, ...(logprobs != null && { logprobs }) };
}

/** The message with keys in a readable order, and without fields that a stage has added. */
function renderMessage(
  { content, reasoning, tool_calls, refusal }: ReplyMessage,
  names: ReasoningNames,
): object {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && named(reasoning, names)),
    ...(tool_calls && { tool_calls }),
    ...(refusal != null && { refusal }),
  };
}
