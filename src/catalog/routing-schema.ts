import { z } from 'zod';

const fields = {
  max_attempts: z
    .int()
    .min(1)
    .max(10)
    .describe('How often upstreams are asked for one request; 1: nobody after the first.'),
  retries_per_upstream: z
    .int()
    .min(0)
    .max(5)
    .describe(
      'How often an upstream that failed is asked again, after all others; each time after a random wait.',
    ),
  backoff_ms: z
    .int()
    .positive()
    .describe(
      'Before the same upstream is asked again: the longest first wait, doubled each time. Never past `stream_commit_ms` or `non_stream_timeout_ms`.',
    ),
  max_backoff_ms: z
    .int()
    .positive()
    .describe('The longest of these waits, unless `Retry-After` asks for more.'),
  retry_ratio: z
    .number()
    .min(0)
    .max(10)
    .describe('How many attempts may follow failed ones, for each request of the last 30 seconds.'),
  min_retries_per_second: z
    .number()
    .min(0)
    .describe('So many beside those, for models that are asked little.'),
  sticky: z
    .enum(['none', 'conversation'])
    .describe(
      'Keep a conversation, known by its messages up to the first of the user, at one upstream, whose prefix cache has it.',
    ),
  sticky_overload: z
    .number()
    .min(1)
    .describe(
      'How many times its share of what is under way an upstream may have before conversations leave it.',
    ),
  when_unusable: z
    .enum(['ask', 'refuse'])
    .describe(
      'No upstream may be asked (open breaker, `Retry-After`, failing health check): ask the one that may be soonest all the same, or refuse with 502 and `Retry-After`.',
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
  when_unusable: 'ask',
} as const;

/** How upstreams are chosen and failures covered, for all models. */
export const routingSchema = z.strictObject({
  max_attempts: fields.max_attempts.default(defaults.max_attempts),
  retries_per_upstream: fields.retries_per_upstream.default(defaults.retries_per_upstream),
  backoff_ms: fields.backoff_ms.default(defaults.backoff_ms),
  max_backoff_ms: fields.max_backoff_ms.default(defaults.max_backoff_ms),
  retry_ratio: fields.retry_ratio.default(defaults.retry_ratio),
  min_retries_per_second: fields.min_retries_per_second.default(defaults.min_retries_per_second),
  sticky: fields.sticky.default(defaults.sticky),
  sticky_overload: fields.sticky_overload.default(defaults.sticky_overload),
  when_unusable: fields.when_unusable.default(defaults.when_unusable),
});

/** The same for one model: what it does not say is said for all. */
export const modelRoutingSchema = z.strictObject(fields).partial();

export type RoutingOptions = Readonly<z.output<typeof routingSchema>>;
