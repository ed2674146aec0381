import { z } from 'zod';

/** Time for stages to settle, and for the client to read the end of its stream, when the gateway shuts down. */
export const closing_patience_ms = 2000;

/** Options for sending streams. */
export const streamLimits = {
  stream_commit_ms: z
    .int()
    .positive()
    .default(10_000)
    .describe("How long a stream's status is held back for the upstream's first event."),
  keepalive_ms: z
    .int()
    .min(0)
    .default(15_000)
    .describe('Silence after which a stream sends a comment; 0 sends none but the one that commits.'),
  slow_client_ms: z
    .int()
    .positive()
    .default(60_000)
    .describe('How long a client may read nothing while data waits for it.'),
};

/** Time limits for replies. */
export const replyLimits = {
  non_stream_timeout_ms: z
    .int()
    .positive()
    .default(120_000)
    .describe('After this a non-streamed request is answered 524; generation goes on and is billed.'),
  max_background_ms: z
    .int()
    .positive()
    .default(900_000)
    .describe(
      'How long a reply is read on after its client was answered 524 or has left. One that is given up then has the end reason `background_aborted` in the ledger.',
    ),
  max_background: z.int().min(0).default(256).describe('How many replies are read on at the same time.'),
};

const schema = z.object(streamLimits);
export type StreamLimits = z.output<typeof schema>;
