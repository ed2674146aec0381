import type { ServerConfig } from '../../common/options.ts';

/** Time for stages to settle, and for the client to read the end of its stream, when the gateway shuts down. */
export const closing_patience_ms = 2000;

/** Limits of streams to clients. */
export type StreamLimits = Pick<ServerConfig, 'stream_commit_ms' | 'keepalive_ms' | 'slow_client_ms'>;
