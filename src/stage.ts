import type { Chunk, Completion } from './canonical.ts';
import type { GatewayError } from './errors.ts';
import type { Exchange, Outcome } from './exchange.ts';

/** What a plugin does. Every hook is optional. `on…` may refuse by throwing a GatewayError. */
export interface Stage {
  /** kebab-case: config key, metric label, span name. */
  readonly name: string;
  /** First to last, before the body is read. */
  onHeaders?(exchange: Exchange): void | Promise<void>;
  /** First to last, the canonical request is there. */
  onRequest?(exchange: Exchange): void | Promise<void>;
  /** Last to first. Returns the reply to hand on, the same or another. */
  onReply?(exchange: Exchange, reply: Completion): Completion | Promise<Completion>;
  /** Last to first. What is held back must be yielded at the end, and before a fault of `chunks` is rethrown. */
  onStream?(exchange: Exchange, chunks: AsyncIterable<Chunk>): AsyncIterable<Chunk>;
  /** Last to first, over the stages that the exchange has entered. Returns the error that the client will see. */
  onError?(exchange: Exchange, error: GatewayError): GatewayError;
  /** Exactly once, when the exchange has ended in whatever way, if the exchange had entered this stage. Must not throw. */
  onSettled?(exchange: Exchange, outcome: Outcome): void;
}
