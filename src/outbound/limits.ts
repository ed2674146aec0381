import { z } from 'zod';

/** How replies are sent. */
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

const schema = z.object(streamLimits);
export type StreamLimits = z.output<typeof schema>;
