import {
  type Charge,
  type Exchange,
  type GatewayError,
  type Limit,
  limitLabel,
  refusal,
} from '../../../src/plugin.ts';
import { retryHeaders } from './rate-limit-headers.ts';
import { refusalMessage, resetSentence, unfittingMessage, whenEnded } from './refusal-message.ts';
import { fittingMaxTokens, type MostUse } from './request-charge.ts';

/** A charge that a limit does not admit. */
export interface RefusedCharge {
  readonly limit: Limit;
  readonly charge: Charge;
  /** What is left of the limit. */
  readonly remaining: number;
  /** Until it would be admitted if nothing else came; `Infinity` for one above a whole hard limit. */
  readonly retry_ms: number;
}

/** Running requests may give back what they have reserved at any moment. */
const held_retry_ms = 1000;

/**
 * The error for a request that a limit refuses. `most` is what the request may use, if a limit is hard; `isHeld` says that running requests
 * of the account have reserved the most that they may use.
 */
export function limitRefusal(
  exchange: Exchange,
  { limit, charge, remaining, retry_ms }: RefusedCharge,
  most: MostUse | undefined,
  isHeld: boolean,
): GatewayError {
  const now_ms = exchange.clock.epoch_ms();
  const isNever = retry_ms === Number.POSITIVE_INFINITY;
  const waits = limit.hard === true && isHeld && !isNever;
  const isUnfitting = limit.hard && most && (isNever || waits || remaining > 0);
  const when = () => (waits ? whenEnded : resetSentence(limit, retry_ms, now_ms));
  return refusal('rate_limited', {
    message: isUnfitting
      ? unfittingMessage(limit, {
          request: exchange.request,
          charge,
          fitting: fittingMaxTokens(limit, remaining, most, exchange.model),
          when: isNever ? undefined : when(),
        })
      : refusalMessage(limit, retry_ms, now_ms, waits),
    headers: retryHeaders(waits ? Math.min(retry_ms, held_retry_ms) : retry_ms),
    limit: limitLabel(limit),
  });
}
