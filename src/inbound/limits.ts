import { z } from 'zod';

/** What a request body may be. */
export const bodyLimits = {
  max_body_bytes: z
    .int()
    .positive()
    .default(16_777_216)
    .describe('The largest request body, also after decompression.'),
  body_idle_ms: z
    .int()
    .positive()
    .default(30_000)
    .describe('The longest pause between two pieces of a request body.'),
};

const schema = z.object(bodyLimits);
export type BodyLimits = z.output<typeof schema>;
