import { z } from 'zod';

const fields = {
  max_attempts: z
    .int()
    .min(1)
    .max(10)
    .describe('Attempts for one request at most, the first included; 1: no failover.'),
  retries_per_upstream: z
    .int()
    .min(0)
    .max(5)
    .describe('Retries of an upstream that failed, after all others; each after a random wait.'),
  backoff_ms: z
    .int()
    .positive()
    .describe(
      'The longest wait before the first retry of the same upstream, doubled for each further one. Never past `stream_commit_ms` or `non_stream_timeout_ms`.',
    ),
  max_backoff_ms: z
    .int()
    .positive()
    .describe('The longest of these waits, unless `Retry-After` asks for more.'),
  retry_ratio: z
    .number()
    .min(0)
    .max(10)
    .describe('Retry budget: attempts that may follow failed ones, for each request of the last 30 seconds.'),
  min_retries_per_second: z
    .number()
    .min(0)
    .describe('So many retries per second beside those, for models with few requests.'),
  sticky: z
    .enum(['none', 'conversation'])
    .describe(
      'Session affinity: keep a conversation, known by its messages up to the first of the user, at one upstream, whose prefix cache has it.',
    ),
  sticky_overload: z
    .number()
    .min(1)
    .describe(
      'How many times its share of the attempts in flight an upstream may have before conversations leave it.',
    ),
  when_all_unavailable: z
    .enum(['try', 'refuse'])
    .describe(
      'What happens when no upstream is usable (open circuit breaker, `Retry-After`, failing health check): `try` the one that will be first, or `refuse` with 502 and `Retry-After`.',
    ),
};

const defaults = {
  max_attempts: 3,
  retries_per_upstream: 0,
  backoff_ms: 100,
  max_backoff_ms: 2000,
  retry_ratio: 0.2,
  min_retries_per_second: 10,
  sticky: 'none',
  sticky_overload: 1.5,
  when_all_unavailable: 'try',
} as const;

/** Load balancing and failover for all models. */
export const routingSchema = z.strictObject({
  max_attempts: fields.max_attempts.default(defaults.max_attempts),
  retries_per_upstream: fields.retries_per_upstream.default(defaults.retries_per_upstream),
  backoff_ms: fields.backoff_ms.default(defaults.backoff_ms),
  max_backoff_ms: fields.max_backoff_ms.default(defaults.max_backoff_ms),
  retry_ratio: fields.retry_ratio.default(defaults.retry_ratio),
  min_retries_per_second: fields.min_retries_per_second.default(defaults.min_retries_per_second),
  sticky: fields.sticky.default(defaults.sticky),
  sticky_overload: fields.sticky_overload.default(defaults.sticky_overload),
  when_all_unavailable: fields.when_all_unavailable.default(defaults.when_all_unavailable),
});

/** The same for one model; absent fields are those for all. */
export const modelRoutingSchema = z.strictObject(fields).partial();

export type RoutingOptions = Readonly<z.output<typeof routingSchema>>;
