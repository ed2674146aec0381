import { z } from 'zod';
import { breakerSchema } from '../routing/circuit-breaker.ts';
import { healthCheckSchema } from '../routing/health-check.ts';

/** How long an attempt may take, how many there may be at a time, and when a provider is left alone. */
export const upstreamLimits = {
  connect_timeout_ms: z.int().positive().default(5000).describe('The longest wait for a connection.'),
  first_token_timeout_ms: z
    .int()
    .positive()
    .default(120_000)
    .describe(
      "The longest wait for the first word of a stream; long prompts may need more than a minute. A whole reply's words come all at once: see `total_timeout_ms`.",
    ),
  idle_timeout_ms: z
    .int()
    .positive()
    .default(600_000)
    .describe('The longest silence of the upstream, before or in its reply.'),
  total_timeout_ms: z
    .int()
    .positive()
    .optional()
    .describe('The longest that one attempt may take, streams included; without it only silence ends one.'),
  max_concurrent: z
    .int()
    .positive()
    .optional()
    .describe(
      'Attempts at a time. What is above goes to another upstream, or is answered 502 `server_error`.',
    ),
  max_queue: z
    .int()
    .min(0)
    .default(0)
    .describe('How many requests may wait for one of the `max_concurrent` places before they go elsewhere.'),
  queue_timeout_ms: z.int().positive().default(5000).describe('How long they wait at most.'),
  breaker: breakerSchema
    .prefault({})
    .describe('When the provider is left alone because its attempts fail; the table `breaker` below.'),
  health_check: healthCheckSchema
    .optional()
    .describe('Asks the server itself whether it is well; the table `health_check` below.'),
};
