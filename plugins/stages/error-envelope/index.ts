import { z } from 'zod';
import { defineStage, GatewayError, type StageFactory } from '../../../src/plugin.ts';
import type { ErrorEnvelopeOptions } from './options.ts';

const schema = z.strictObject({
  openai_fields: z
    .boolean()
    .default(false)
    .describe(
      'Add `param` and `code` to the envelope, as OpenAI does; without it errors have `message` and `type` only.',
    ),
});

/**
 * Formats every error for the client and logs the rest. First in the chain, to see the errors of all other stages.
 */
export const errorEnvelope: StageFactory<ErrorEnvelopeOptions> = defineStage({
  name: 'error-envelope',
  schema,
  create({ openai_fields }) {
    return {
      onError(exchange, error) {
        const { status, type, code, cause } = error;
        const [model, account] = [exchange.model?.id, exchange.account?.id];
        const isOverload = exchange.end_reason === 'refused';
        const isOurs = (type === 'server_error' && !isOverload) || type === 'configuration_error';
        const level = isOurs ? 'error' : status >= 500 ? 'warn' : 'debug';
        exchange.log[level]({ status, type, code, model, account, err: cause }, error.message);
        if (!openai_fields) return error;
        const shown = new GatewayError(error.type, error.status, error.message, error);
        shown.openaiFields = true;
        return shown;
      },
    };
  },
});
