import { defineStage, invalidField } from 'sluice/plugin';
import { z } from 'zod';

const schema = z.strictObject({
  rules: z.string().min(1).describe('System message before every conversation.'),
  max_messages: z
    .int()
    .min(1)
    .default(100)
    .describe('Most messages of a conversation; longer ones are rejected.'),
});

/** Prepends the configured rules to every conversation, and rejects conversations of too many messages. */
export default defineStage({
  name: 'house-rules',
  schema,
  create({ rules, max_messages }) {
    return {
      onRequest({ request }) {
        const count = request.messages.length;
        if (count > max_messages)
          throw invalidField('messages', `must be at most ${max_messages} here, not ${count}`);
        request.messages = [{ role: 'system', content: rules }, ...request.messages];
      },

      onSettled({ log }, { account, end_reason, usage }) {
        log.info({ account, end_reason, tokens: usage.completion_tokens }, 'the house has answered');
      },
    };
  },
});
