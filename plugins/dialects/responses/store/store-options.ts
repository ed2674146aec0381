import { z } from 'zod';

const positive = (fallback: number) => z.int().positive().default(fallback);

/** `responses.store`. */
export const storeSchema = z
  .strictObject({
    ttl_days: z
      .number()
      .positive()
      .describe('Days after which a stored response is deleted, counted from its request.'),
    keys: z
      .array(z.string().min(32, 'must have at least 32 characters'))
      .min(1)
      .describe(
        'Secrets of at least 32 characters, usually `["${RESPONSES_KEY}"]`. The first one encrypts what is stored, all decrypt. What was encrypted with a secret that is no longer listed is not found any longer.',
      ),
    per_account: z
      .record(z.string(), z.number().min(0))
      .optional()
      .describe('`ttl_days` by the name of an account; 0 stores nothing of it.'),
    max_response_bytes: positive(4_194_304).describe(
      'A response that takes more, with its own input, is not stored: its reply says `store: false`.',
    ),
    max_chain_items: positive(1000).describe(
      'Items of input and output that a request may continue; above it the client sends what it needs as `input`.',
    ),
    max_chain_bytes: positive(16_777_216).describe('The most bytes that these items may have together.'),
    max_background: positive(10).describe(
      'Responses of an account with `background: true` that one instance generates at the same time.',
    ),
    background_timeout_ms: positive(3_600_000).describe('Such a response ends after this time in any case.'),
  })
  .optional()
  .describe(
    'Keep responses, prompts included, in the records store, so that clients continue them with `previous_response_id` and read them at `/v1/responses/{id}`. Nothing is stored without it.',
  );

/** Options of the store. */
export type StoreOptions = NonNullable<z.output<typeof storeSchema>>;
