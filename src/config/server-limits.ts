import { z } from 'zod';
import { ms } from '../common/option-schemas.ts';

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
  body_idle_ms: ms(30_000).describe('The longest pause between two pieces of a request body.'),
  body_timeout_ms: ms(300_000).describe(
    'How long a request body may take in all, however short its pauses: 16 MiB at 0.5 Mbit/s take 270 s. Longer bodies of `passthrough` must keep to `min_body_bytes_per_second` from then on.',
  ),
  max_buffered_bytes: z
    .int()
    .positive()
    .optional()
    .describe(
      'The most memory, in bytes, that request bodies may take at a time, from their arrival to the end of their exchange: their bytes, decompressed ones included, the parsed form (1 byte for a character, 2 in a body that is not all ASCII or has `\\u` escapes; 64 for each value, 128 for each key), and the copy for the provider until its reply begins. A body takes two to three times its size; above the limit it is refused with 502 `server_error`. Bodies that take more than 1 MiB are refused at three quarters of it, so that small ones are served beside them. Without it: half of the heap that V8 may use, but at most a third of what the memory of the container, divided by `workers`, has above 256 MiB, or an eighth of it. That is 256 MiB in a container of 1 GiB, and 85 MiB in one of 512 MiB.',
    ),
  max_buffered_bytes_per_account: z
    .int()
    .positive()
    .optional()
    .describe(
      'The same for each account; requests without an account share one. Without it: a quarter of `max_buffered_bytes`, but at least five times `max_body_bytes`, so that one largest body is served.',
    ),
};

/** Options for sending streams. */
export const streamLimits = {
  stream_commit_ms: ms(10_000).describe(
    "How long a stream's status is held back for the upstream's first event.",
  ),
  keepalive_ms: z
    .int()
    .min(0)
    .default(15_000)
    .describe('Silence after which a stream sends a comment; 0 sends none but the one that commits.'),
  slow_client_ms: ms(60_000).describe('How long a client may read nothing while data waits for it.'),
};

/** Time limits for replies. */
export const replyLimits = {
  non_stream_timeout_ms: ms(120_000).describe(
    'After this a non-streamed request is answered 524; generation goes on and is billed.',
  ),
  max_background_ms: ms(900_000).describe(
    'How long a reply is read on after its client was answered 524 or has left. One that is given up then has the end reason `background_aborted` in the ledger.',
  ),
  max_background: z.int().min(0).default(256).describe('How many replies are read on at the same time.'),
};
