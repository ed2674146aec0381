import type { Limit } from '../../gateway/limits/limit-table.ts';
import type { Charge } from '../../gateway/limits/limit-units.ts';
import type {
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateStore,
} from '../../gateway/limits/state-store.ts';
import type { Channel } from '../workers/channel.ts';
import { type ReservationAnswer, ReservationReader, stateMessages } from './state-messages.ts';

const nothing: Charge = { requests: 0, tokens: 0, nano_usd: 0 };

/** A worker's reservation; without `reservation` while the store has not decided. */
interface Held {
  readonly charge: Charge;
  reservation?: Reservation;
  /** What was used, where that is known before the decision. */
  used?: Charge;
}

/**
 * Counts the limits of a worker in `store`. When the channel closes, the concurrency that the worker held is free again; what else it had
 * reserved stays counted, as of an instance that was killed.
 */
export function serveState(channel: Channel, store: StateStore): void {
  const held = new Map<string, Held>();
  const reservations = new ReservationReader();

  const answerOf = ({ id, limits }: ReservationRequest, result: ReservationResult): ReservationAnswer => {
    const statuses = stateMessages.rows(result.statuses);
    const own = held.get(id)!;
    if (!result.admitted) {
      held.delete(id);
      return { statuses, refused_by: limits.indexOf(result.refused_by), retry_ms: result.retry_ms };
    }
    own.reservation = result.reservation;
    const { over } = result.reservation;
    // The worker has given up, or has ended.
    if (own.used) end(id, own.used);
    return { statuses, over: over.map(limit => limits.indexOf(limit)) };
  };

  const end = (id: string, used: Charge): void => {
    const own = held.get(id);
    if (!own) return;
    own.used = used;
    if (!own.reservation) return;
    held.delete(id);
    own.reservation.settle(used);
  };

  channel
    .handle('state.reserve', payload => {
      const request = reservations.read(payload as string);
      const result = store.reserve(request);
      held.set(request.id, { charge: request.charge });
      const answer = (result: ReservationResult) => stateMessages.answer(answerOf(request, result));
      if (!(result instanceof Promise)) return answer(result);
      return result.then(answer, thrown => {
        held.delete(request.id);
        throw thrown;
      });
    })
    .handle('state.settle', payload => end(...stateMessages.readSettlement(payload as string)))
    .handle('state.statuses', async payload => {
      const { account, limits } = payload as { account: string; limits: readonly Limit[] };
      return stateMessages.rows(await store.statuses(account, limits));
    })
    .onClosed(() => {
      for (const [id, { charge, reservation }] of held) end(id, reservation ? charge : nothing);
    });
}
