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

/** Sets the form of every error. First in the chain, to see the errors of all other stages; the gateway itself logs them. */
export const errorEnvelope: StageFactory<ErrorEnvelopeOptions> = defineStage({
  name: 'error-envelope',
  schema,
  create: ({ openai_fields }) => ({
    onError(_exchange, error) {
      if (!openai_fields) return error;
      const shown = new GatewayError(error.type, error.status, error.message, error);
      shown.openaiFields = true;
      return shown;
    },
  }),
});
