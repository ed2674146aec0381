import { z } from 'zod';
import { Catalog, defineDialect } from '../../../src/plugin.ts';
import { anthropicErrorBody, renderMessage } from './message-object.ts';
import { MessageStream } from './message-stream.ts';
import { parseCountRequest, parseMessagesRequest, refitEffort } from './messages-request.ts';

const schema = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'Offer `/v1/messages` and `/v1/messages/count_tokens`; otherwise they are unknown paths. `anthropic-version`, `anthropic-beta`, `service_tier`, `container` and `mcp_servers` have no effect; `cache_control` and `is_error` have one at Anthropic only; `thread` is refused.',
    ),
});

/** What both endpoints have in common. */
const shared = {
  errorBody: anthropicErrorBody,
  headers: { key: 'x-api-key', request_id: 'request-id' },
  options: { section: 'messages', schema },
} as const;

/** Anthropic's Messages. */
export const messages = defineDialect({
  ...shared,
  name: 'messages',
  paths: { '/v1/messages': ['POST'] },
  create(_options, { models }) {
    const catalog = new Catalog(models);
    return {
      parse: body => parseMessagesRequest(body, id => catalog.find(id)),
      renamed: refitEffort,
      renderReply: renderMessage,
      renderStream: (identity, promptTokens) => new MessageStream(identity, promptTokens),
    };
  },
});

/** The tokens of the prompt of such a request, estimated. */
export const messagesCount = defineDialect({
  ...shared,
  name: 'messages.count-tokens',
  paths: { '/v1/messages/count_tokens': ['POST'] },
  create(_options, { models }) {
    const catalog = new Catalog(models);
    return {
      parse: body => parseCountRequest(body, id => catalog.find(id)),
      renamed: refitEffort,
      answerRequest: (_identity, promptTokens) => JSON.stringify({ input_tokens: promptTokens() }),
    };
  },
});
