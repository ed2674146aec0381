import { refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';

/** Lengths of timers are rounded up to this: Node keeps a list of timers for each length, and most exchanges share one. */
const timer_grid_ms = 10;

/** Rejection of `beforeTimeLimit` when the client has left; never sent to a client. */
export class ClientGone extends Error {}

/**
 * Resolves with `reply`. Rejects if the time limit of non-streamed requests passes first, or if the client leaves a reply that
 * `outlivesClient`. `reply` itself goes on even then: generation is read to its end and billed.
 */
export function beforeTimeLimit<T>(
  reply: Promise<T>,
  exchange: Exchange,
  limit_ms: number,
  outlivesClient: boolean,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const remaining_ms = Math.max(0, exchange.started_ms + limit_ms - exchange.clock.elapsed_ms());
    const timer = setTimeout(
      () => {
        exchange.end.causedBy('time_limit');
        const message = `No complete answer within ${limit_ms / 1000} seconds. Generation continues server-side and is billed; use "stream": true.`;
        reject(refusal('time_limit', { message }));
      },
      Math.ceil(remaining_ms / timer_grid_ms) * timer_grid_ms,
    );
    if (outlivesClient && exchange.model?.on_client_gone !== 'abort')
      exchange.readOn = () => {
        clearTimeout(timer);
        reject(new ClientGone('the client left before the reply was complete'));
      };
    const before = <A>(settle: (result: A) => void) => {
      return (result: A) => {
        clearTimeout(timer);
        exchange.readOn = undefined;
        settle(result);
      };
    };
    reply.then(before(resolve), before(reject));
  });
}
