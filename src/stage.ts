import type { Chunk, Completion } from './canonical.ts';
import type { GatewayError } from './errors.ts';
import type { ExchangeView as Exchange, Outcome } from './exchange/exchange-view.ts';
import type { StreamTransformer } from './stream.ts';

/**
 * What a stage answers with in place of the upstream: a whole reply, or its chunks. Either is sent in the form that the client asked for.
 * Usage that it names is billed; what it does not name is estimated.
 */
export type Answer = Completion | Iterable<Chunk> | AsyncIterable<Chunk>;

/** What a plugin does. Every hook is optional. `on…` may refuse by throwing a GatewayError. */
export interface Stage {
  /** kebab-case: config key, metric label, span name. */
  readonly name: string;
  /** First to last, before the body is read. */
  onHeaders?(exchange: Exchange): void | Promise<void>;
  /**
   * First to last, the canonical request is there. An answer ends the way down: later stages and the upstream are not asked, and the stages
   * up to and including this one see the reply on its way up.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that answers only sometimes ends without a return elsewhere
  onRequest?(exchange: Exchange): void | Answer | Promise<void | Answer>;
  /** Last to first. Returns the reply to hand on, the same or another. */
  onReply?(exchange: Exchange, reply: Completion): Completion | Promise<Completion>;
  /** Last to first, once for each streamed exchange. Returns what the stage does to the chunks, or nothing to leave them alone. */
  onStream?(exchange: Exchange): StreamTransformer | undefined;
  /** Last to first, over the stages that the exchange has entered. Returns the error that the client will see. */
  onError?(exchange: Exchange, error: GatewayError): GatewayError;
  /** Exactly once, when the exchange has ended in whatever way, if the exchange had entered this stage. Must not throw. */
  onSettled?(exchange: Exchange, outcome: Outcome): void;
  /** Frees what the stage holds, when its gateway closes and no exchange runs any longer. */
  close?(): void | Promise<void>;
}
