import { z } from 'zod';
import { ms } from '../common/option-schemas.ts';

/** Load balancing and failover for all models. */
export const routingSchema = z.strictObject({
  strategy: z
    .enum(['weighted', 'lowest_latency', 'lowest_cost'])
    .default('weighted')
    .describe(
      'Which of the usable upstreams of a priority is asked: `weighted`, by weight, load and latency; `lowest_latency`, the fastest to the first token; `lowest_cost`, the one with the lowest `paid_prices`.',
    ),
  max_attempts: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe('Attempts for one request at most, the first included; 1: no failover.'),
  retries_per_upstream: z
    .int()
    .min(0)
    .max(5)
    .default(0)
    .describe('Retries of an upstream that failed, after all others; each after a random wait.'),
  backoff_ms: ms(100).describe(
    'The longest wait before the first retry of the same upstream, doubled for each further one. Never past `stream_commit_ms` or `non_stream_timeout_ms`.',
  ),
  max_backoff_ms: ms(2000).describe('The longest of these waits, unless `Retry-After` asks for more.'),
  retry_ratio: z
    .number()
    .min(0)
    .max(10)
    .default(0.2)
    .describe('Retry budget: attempts that may follow failed ones, for each request of the last 30 seconds.'),
  min_retries_per_second: z
    .number()
    .min(0)
    .default(10)
    .describe('Retries per second that are allowed beside those, for models with few requests.'),
  sticky: z
    .enum(['none', 'conversation'])
    .default('none')
    .describe(
      'Session affinity: keep a conversation, known by its messages up to the first of the user, at one upstream, whose prefix cache has it.',
    ),
  sticky_overload: z
    .number()
    .min(1)
    .default(1.5)
    .describe(
      'How many times its share of the attempts in flight an upstream may have before conversations leave it.',
    ),
  when_all_unavailable: z
    .enum(['try', 'refuse'])
    .default('try')
    .describe(
      'What happens when no upstream is usable (open circuit breaker, `Retry-After`, failing health check): `try` the one that will be first, or `refuse` with 502 and `Retry-After`.',
    ),
});

type Shape = typeof routingSchema.shape;

const ownFields = Object.fromEntries(
  Object.entries(routingSchema.shape).map(([name, field]) => [
    name,
    (field as z.ZodDefault<z.ZodType>).unwrap().optional().describe(field.description!),
  ]),
);

/** The same for one model; absent fields are those for all. */
export const modelRoutingSchema = z.strictObject(
  ownFields as { [K in keyof Shape]: z.ZodOptional<ReturnType<Shape[K]['unwrap']>> },
);
