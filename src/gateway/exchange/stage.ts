import type { Chunk, Completion } from './canonical.ts';
import type { GatewayError } from './errors.ts';
import type { ExchangeView as Exchange, Outcome } from './exchange-view.ts';
import type { StreamTransformer } from './stream.ts';

/**
 * A stage's answer in place of the upstream's: a whole reply, or its chunks. Either is sent in the form that the client asked for. Usage
 * that it contains is billed; otherwise usage is estimated.
 */
export type Answer = Completion | Iterable<Chunk> | AsyncIterable<Chunk>;

/** A stage of the chain. Every hook is optional. `on…` hooks may refuse by throwing a GatewayError. */
export interface Stage {
  /** kebab-case: config key, metric label, span name. */
  readonly name: string;
  /**
   * What `createChain` does with a request in a format that it does not know, which this stage cannot read: true refuses the request, false
   * lets it reach the handler unchecked. A function decides for each request, after `onHeaders`. By default true for a stage with
   * `onRequest`, `onReply` or `onStream`.
   */
  readonly mustRead?: boolean | ((exchange: Exchange) => boolean);
  /** Whether `onRequest` works without text, on messages of token ids. Otherwise a request with token ids is refused. */
  readonly takesTokens?: boolean;
  /** Called first to last, before the body is read. */
  onHeaders?(exchange: Exchange): void | Promise<void>;
  /**
   * Called first to last, with the canonical request available. An answer ends the request phase: later stages and the upstream are not
   * called, and the reply passes this stage and the ones before it. An answer is a whole reply, such as
   * `{ choices: […], usage: usageOf(0, 0) }`, or its chunks.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that answers only sometimes ends without a return elsewhere
  onRequest?(exchange: Exchange): void | Answer | Promise<void | Answer>;
  /** Called last to first. Returns the reply to pass on, the same or another. A stage that changes replies needs `onStream` as well. */
  onReply?(exchange: Exchange, reply: Completion): Completion | Promise<Completion>;
  /** Called last to first, once for each streamed exchange. Returns a transformer of the chunks, or nothing to leave them unchanged. */
  onStream?(exchange: Exchange): StreamTransformer | undefined;
  /** Called last to first, for the stages that the exchange has entered. Returns the error that the client will see. */
  onError?(exchange: Exchange, error: GatewayError): GatewayError;
  /**
   * Called exactly once, when an exchange that has entered this stage has ended, however it ended. Must not throw. Another hook of the stage
   * that took too long may still run: it must check `exchange.aborted` after each `await`, and then release what it has just acquired.
   */
  onSettled?(exchange: Exchange, outcome: Outcome): void;
  /** Releases the stage's resources, when its gateway or chain closes and no exchange is running. Has 5 seconds. */
  close?(): void | Promise<void>;
}
