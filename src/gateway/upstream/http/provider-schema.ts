import { z } from 'zod';
import { sendReasoning } from '../attempt/fit-messages.ts';
import { droppableParameters } from '../attempt/fit-request.ts';
import { breakerSchema } from '../routing/circuit-breaker.ts';
import { healthCheckSchema } from '../routing/health-check.ts';

const text = z.string().min(1);
const positive = z.int().positive();

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
    .describe('Request fields outside the interface that this provider may be sent, such as `top_k`.'),
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
  connect_timeout_ms: positive.default(5000).describe('The longest wait for a connection.'),
  first_token_timeout_ms: positive
    .default(120_000)
    .describe(
      "The longest wait for the first word of a stream; long prompts may need more than a minute. A whole reply's words come all at once: see `total_timeout_ms`.",
    ),
  idle_timeout_ms: positive
    .default(600_000)
    .describe('The longest silence of the upstream, before or in its reply.'),
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
  queue_timeout_ms: positive.default(5000).describe('How long they wait at most.'),
  breaker: breakerSchema
    .prefault({})
    .describe('When a circuit breaker keeps requests away from the provider; the table `breaker` below.'),
  health_check: healthCheckSchema
    .optional()
    .describe('Checks the health of the server; the table `health_check` below.'),
  max_event_bytes: positive.default(1_048_576).describe('The largest event of a stream.'),
  pass_upstream_429: z
    .boolean()
    .default(false)
    .describe("Answer the upstream's own 429 as 429 `rate_limit_error` instead of 502 `provider_error`."),
  max_reply_bytes: positive.default(67_108_864).describe('The largest reply, streamed or not.'),
});

export type ProviderConfig = z.infer<typeof providerBaseSchema>;
