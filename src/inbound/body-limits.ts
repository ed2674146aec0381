import { z } from 'zod';
import { type GatewayError, refusal } from '../errors.ts';

/** Limits of request bodies, as options. */
export const bodyLimits = {
  max_body_bytes: z
    .int()
    .positive()
    .default(16_777_216)
    .describe('The largest request body, also after decompression.'),
  max_body_values: z
    .int()
    .positive()
    .default(300_000)
    .describe(
      'The most JSON values in a request body: objects, arrays, strings, numbers and literals. 10,000 messages with parts and tool calls have 130,000.',
    ),
  max_body_keys: z
    .int()
    .positive()
    .default(150_000)
    .describe('The most keys of objects in a request body, all objects together.'),
  max_decompression_ratio: z
    .int()
    .positive()
    .default(100)
    .describe(
      'How many times its size a compressed request body may decompress to, beyond a first mebibyte that any may. JSON shrinks to a tenth, mostly.',
    ),
  body_idle_ms: z
    .int()
    .positive()
    .default(30_000)
    .describe('The longest pause between two pieces of a request body.'),
  body_timeout_ms: z
    .int()
    .positive()
    .default(300_000)
    .describe(
      'How long a request body may take in all, however short its pauses: 16 MiB at 0.5 Mbit/s take 270 s. Longer bodies of `passthrough` must keep to `min_body_bytes_per_second` from then on.',
    ),
  max_buffered_bytes: z
    .int()
    .positive()
    .default(268_435_456)
    .describe(
      'The most bytes of request bodies held in memory at a time, decompressed ones included, from their arrival to the end of their exchange; above it bodies are refused with 502 `server_error`. A process takes two to three times as much. The default suits a container of 1 GiB.',
    ),
  max_buffered_bytes_per_account: z
    .int()
    .positive()
    .default(67_108_864)
    .describe('The same for each account; requests without an account share one.'),
};

const schema = z.object(bodyLimits);
export type BodyLimits = z.output<typeof schema>;

/** Error for a body, compressed or not, above `max_body_bytes`. */
export function tooLarge(max_body_bytes: number): GatewayError {
  return refusal('body_too_large', {
    message: `The request body is larger than the ${max_body_bytes} bytes accepted.`,
    // The rest of the body is not read, so the connection cannot serve another request.
    headers: { connection: 'close' },
  });
}
