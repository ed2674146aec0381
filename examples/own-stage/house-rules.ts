import { defineStage, invalidField } from 'sluice/plugin';
import { z } from 'zod';

const schema = z.strictObject({
  rules: z.string().min(1).describe('Put before every conversation, as a message of the system.'),
  max_messages: z.int().min(1).default(100).describe('Longer conversations are refused.'),
});

/** Puts the rules of the house before every conversation, and refuses endless ones. */
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
