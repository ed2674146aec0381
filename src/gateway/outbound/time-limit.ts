import { refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';

/** Lengths of timers are rounded up to this: Node keeps a list of timers for each length, and most exchanges share one. */
const timer_grid_ms = 10;

/** Rejection of `beforeTimeLimit` when the client has left; never sent to a client. */
export class ClientGone extends Error {}

/** What is done with a whole reply, in the turn in which it comes. */
export interface ReplyTaker<T, R> {
  /** Counts it, also when it comes too late to be sent. */
  replied(reply: T): T;
  /** Counts that none came, and why. */
  replyFailed(thrown: unknown): void;
  /** Sends it. */
  sendReply(reply: T): R | Promise<R>;
}

/**
 * Gives `reply` to `taker`, and resolves when it is sent. Rejects if the time limit of non-streamed requests passes first, or if the client
 * leaves a reply that `outlivesClient`. `reply` itself goes on even then: generation is read to its end and billed.
 */
export function beforeTimeLimit<T, R>(
  reply: Promise<T>,
  exchange: Exchange,
  limit_ms: number,
  outlivesClient: boolean,
  taker: ReplyTaker<T, R>,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const remaining_ms = Math.max(0, exchange.started_ms + limit_ms - exchange.clock.elapsed_ms());
    let isOver = false;
    const giveUp = () => {
      isOver = true;
      reject(outOfTime(exchange, limit_ms));
    };
    const timer = setTimeout(giveUp, Math.ceil(remaining_ms / timer_grid_ms) * timer_grid_ms);
    if (outlivesClient && exchange.model?.on_client_gone !== 'abort')
      exchange.insteadOfAbort = () => {
        isOver = true;
        clearTimeout(timer);
        reject(new ClientGone('the client left before the reply was complete'));
      };
    const came = (result: T) => {
      clearTimeout(timer);
      exchange.insteadOfAbort = undefined;
      try {
        const counted = taker.replied(result);
        if (!isOver) resolve(taker.sendReply(counted));
      } catch (thrown) {
        reject(thrown);
      }
    };
    const failed = (thrown: unknown) => {
      clearTimeout(timer);
      exchange.insteadOfAbort = undefined;
      try {
        taker.replyFailed(thrown);
        reject(thrown);
      } catch (fault) {
        reject(fault);
      }
    };
    reply.then(came, failed);
  });
}

function outOfTime({ end }: Exchange, limit_ms: number): Error {
  end.causedBy('time_limit');
  const message = `No complete answer within ${limit_ms / 1000} seconds. Generation continues server-side and is billed; use "stream": true.`;
  return refusal('time_limit', { message });
}
