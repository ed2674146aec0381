import { z } from 'zod';
import type { ChatRequest, Choice, ReplyMessage } from '../../exchange/canonical.ts';
import { olderNameAgents } from '../client-agents.ts';
import { defineDialect, type Identity, type RequestContext } from '../define-dialect.ts';
import { openAiErrorBody } from '../openai-error.ts';
import { bodyParser } from '../request-schema/first-fault.ts';
import { present, sharedRequest } from '../request-schema/shared-fields.ts';
import {
  setAsideInMessages,
  setAsideStreamOptions,
  setAsideUnknown,
} from '../request-schema/unknown-fields.ts';
import { chatRequest, forwardedParameters, plainFields } from './chat-request.ts';
import { chatStream, named, type ReasoningNames, reasoningNames } from './chat-stream.ts';

const knownFields = new Set(Object.keys(chatRequest.shape));
const parseFields = bodyParser(chatRequest, ['stream_options', 'tool_choice'], plainFields);

const schema = z.strictObject({
  reasoning_key: z
    .enum(['reasoning', 'reasoning_content', 'both'])
    .default('reasoning')
    .describe(
      'What reasoning is called in messages and deltas: `reasoning`, and both names for clients known by their `User-Agent` to read the older one alone; `reasoning_content`, the older name and the only one that some clients read; `both`, under each name.',
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
    const configured = reasoningNames[reasoning_key];
    const namesOf = ({ request: { client } }: Identity) =>
      (client?.kept as ReasoningNames | undefined) ?? configured;
    return {
      parse: parseChatRequest,

      renderReply(identity, reply) {
        const names = namesOf(identity);
        return JSON.stringify({
          id: `chatcmpl-${identity.key}`,
          object: 'chat.completion',
          created: identity.created,
          model: identity.model,
          choices: reply.choices.map(choice => renderChoice(choice, names)),
          usage: reply.usage,
        });
      },

      renderStream: identity => chatStream(identity, namesOf(identity)),
    };
  },
});

/** A chat completion request in the canonical form. Throws `invalid_request` naming the first field at fault. */
function parseChatRequest(body: Record<string, unknown>, context?: RequestContext): ChatRequest {
  const from = parseFields(body);
  const { max_tokens, max_completion_tokens, stop, tools, n } = from;
  const request = sharedRequest(from, from.messages);
  // The newer name takes precedence.
  const own = { max_tokens: max_completion_tokens ?? max_tokens, stop: stop?.length ? stop : null, tools, n };
  Object.assign(request, present(own));
  if (max_completion_tokens != null)
    request.client = { field_names: { max_tokens: 'max_completion_tokens' } };
  const agent = context?.headers['user-agent'];
  if (typeof agent === 'string' && olderNameAgents.test(agent))
    request.client = { ...request.client, kept: reasoningNames.both };
  for (const name in forwardedParameters) {
    const value = from[name as keyof typeof forwardedParameters];
    if (value != null) request.parameters[name] = value;
  }
  setAsideUnknown(request, body, knownFields);
  setAsideStreamOptions(request, body);
  setAsideInMessages(request, body.messages);
  return request;
}

/** With keys in a readable order; what is undefined is left out of the JSON. */
function renderChoice({ index, message, finish_reason, logprobs }: Choice, names: ReasoningNames): object {
  return {
    index,
    message: renderMessage(message, names),
    finish_reason,
    logprobs: logprobs ?? undefined,
  };
}

/** Without fields that a stage has added. */
function renderMessage(
  { content, reasoning, tool_calls, refusal, annotations, images }: ReplyMessage,
  names: ReasoningNames,
): object {
  const rest = { tool_calls: tool_calls || undefined, refusal: refusal ?? undefined, annotations, images };
  return reasoning === undefined
    ? { role: 'assistant', content, ...rest }
    : { role: 'assistant', content, ...named(reasoning, names), ...rest };
}
