import type { Completion } from '../canonical.ts';
import type { ReplySink } from '../outbound/reply-sink.ts';
import type { BackgroundRead } from '../settlement/background.ts';
import type { StreamMeter } from '../settlement/meter.ts';
import type { ChunkSource } from '../stream.ts';

/** Where the reply of one exchange comes from: attempts at providers, the handler behind a chain, or a stage. */
export interface ReplySource extends BackgroundRead {
  /** A whole reply is read to its end for the bill when its client leaves (protocol j4). */
  readonly outlivesClient: boolean;
  /** Where the reply goes if the source has put itself before the response. */
  readonly sink?: ReplySink;
  /** The whole reply, or a GatewayError. */
  reply(): Promise<Completion>;
  /** The reply as it comes, counted by `meter`. */
  stream(meter: StreamMeter): ChunkSource;
  /** The client was answered 524; `pending` is read on. */
  readOn?(pending: Promise<unknown>): void;
  /** The exchange has ended, and what it used is known. */
  settled?(): void;
}
