import { z } from 'zod';
import { ms, off } from '../common/option-schemas.ts';
import { sendReasoning } from '../gateway/upstream/attempt/fit-messages.ts';
import { droppableParameters } from '../gateway/upstream/attempt/fit-request.ts';

const text = z.string().min(1);
const positive = z.int().positive();

/** When a provider's circuit breaker opens, and how it closes again. */
export const breakerSchema = z
  .strictObject({
    consecutive_failures: z
      .int()
      .min(0)
      .default(5)
      .describe('Failed attempts in a row that open the breaker; 0: none.'),
    failure_ratio: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe('Share of failed attempts among the last `window` above which the breaker opens; 1: none.'),
    window: z
      .int()
      .min(2)
      .max(10_000)
      .default(50)
      .describe('How many attempts `failure_ratio` looks back at; half of them must have been made.'),
    open_ms: ms(5000).describe(
      'How long the breaker stays open; half of it at random, doubled each time a probe fails.',
    ),
    max_open_ms: ms(60_000).describe('The longest that the breaker stays open.'),
    probes: z
      .int()
      .min(1)
      .max(100)
      .default(3)
      .describe(
        'Attempts that must succeed before the breaker closes: at first one at a time, then two, and so on.',
      ),
    ramp_ms: z
      .int()
      .min(0)
      .default(10_000)
      .describe('How long the share of requests takes to rise from a tenth to all after the breaker closed.'),
  })
  .refine(({ open_ms, max_open_ms }) => max_open_ms >= open_ms, {
    path: ['max_open_ms'],
    message: 'must not be shorter than open_ms',
  });

/** How a server's health is checked. */
export const healthCheckSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/(?!\/)[^\s#]*$/, 'must be a path from the root of the server, such as /health')
    .meta({ shown: true })
    .describe("Requested with GET, from the server's root, such as `/health`; 2xx means healthy."),
  interval_ms: z.int().min(100).default(10_000).describe('The time between two checks.'),
  timeout_ms: ms(3000).describe('The longest wait for an answer.'),
  unhealthy_after: z
    .int()
    .min(1)
    .default(2)
    .describe('Failed checks in a row after which it gets no requests.'),
  healthy_after: z
    .int()
    .min(1)
    .default(1)
    .describe('Passed checks in a row after which it gets requests again.'),
});

/** The configuration of a provider, beside the options of its adapter. */
export const providerBaseSchema = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .meta({ address: true })
    .describe('Where the API begins, usually with `/v1`.'),
  api_key: text
    .optional()
    .describe(
      'Sent as `Authorization: Bearer …`, or as the adapter says; usually `${NAME}` or `${file:PATH}`.',
    ),
  api_keys: z
    .array(text)
    .min(1, 'must list at least one key')
    .optional()
    .describe(
      'Several keys, used in turn in place of `api_key`. One that the upstream refuses (401, 403) or limits (429) is paused while there are others.',
    ),
  api_key_file: text
    .meta({ shown: true })
    .optional()
    .describe('A file with a key in each line, in place of `api_key`; read again when it changes.'),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe('Further headers of every upstream request.'),
  extra_parameters: z
    .array(z.string())
    .meta({ shown: true })
    .default([])
    .describe(
      'Request fields outside the interface that this provider may be sent, such as `top_k` or `service_tier`, beside those of its adapter.',
    ),
  drop_parameters: z
    .array(z.enum(droppableParameters))
    .default([])
    .describe('Parameters that this server does not take: not sent, and named in `x-ignored-parameters`.'),
  send_reasoning: z
    .enum(sendReasoning)
    .default('tool_turns')
    .describe(
      'Which reasoning that clients send back goes upstream: that of turns that called tools, as many reasoning models require; `always`; or `never`. What is left out is named in `x-ignored-parameters`.',
    ),
  connect_timeout_ms: ms(5000).describe('The longest wait for a connection.'),
  first_token_timeout_ms: ms(120_000).describe(
    "The longest wait for the first word of a stream; long prompts may need more than a minute. A whole reply's words come all at once: see `total_timeout_ms`.",
  ),
  idle_timeout_ms: ms(600_000).describe('The longest silence of the upstream, before or in its reply.'),
  total_timeout_ms: positive
    .optional()
    .describe('The longest that one attempt may take, streams included; without it only silence ends one.'),
  max_concurrent: positive
    .optional()
    .describe(
      'Attempts at a time. Excess requests go to the next upstream, or are answered 502 `server_error`.',
    ),
  max_queue: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'How many requests may wait for one of the `max_concurrent` permits before they go to the next upstream.',
    ),
  queue_timeout_ms: ms(5000).describe('The longest that such a request waits.'),
  breaker: breakerSchema
    .prefault({})
    .describe('When a circuit breaker keeps requests away from the provider; the table `breaker` below.'),
  health_check: healthCheckSchema
    .optional()
    .describe('Checks the health of the server; the table `health_check` below.'),
  max_event_bytes: positive.default(1_048_576).describe('The largest event of a stream.'),
  pass_upstream_429: off(
    "Answer the upstream's own 429 as 429 `rate_limit_error` instead of 502 `provider_error`.",
  ),
  max_reply_bytes: positive.default(67_108_864).describe('The largest reply, streamed or not.'),
});
