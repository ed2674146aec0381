import type { ReplySink } from '../outbound/reply-sink.ts';
import type { BackgroundRead } from '../settlement/background.ts';
import type { Completion } from './canonical.ts';
import type { ChunkSource } from './stream.ts';

/** Source of one exchange's reply: attempts at providers, the handler behind a chain, or a stage. */
export interface ReplySource extends BackgroundRead {
  /** A whole reply is read to its end for the bill when its client leaves. */
  readonly outlivesClient: boolean;
  /** Sink of the reply, if the source intercepts the response. */
  readonly sink?: ReplySink;
  /** Resolves with the whole reply; rejects with a GatewayError. */
  reply(): Promise<Completion>;
  /** The reply as a stream. */
  stream(): ChunkSource;
  /** Called when the client was answered 524 and `pending` is read on. */
  readOn?(pending: Promise<unknown>): void;
  /** Called when the exchange has ended and its usage is known. */
  settled?(): void;
}
