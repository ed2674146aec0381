import {
  amountsOf,
  type Charge,
  dayIn,
  type Exchange,
  type GatewayError,
  type Limit,
  limitLabel,
  type Model,
  neverResets,
  refusal,
  rowOf,
  unitOf,
  windowOf,
} from '../../../src/plugin.ts';
import { retryHeaders } from './rate-limit-headers.ts';
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
/** When what running requests hold is free again. */
const whenEnded = 'Retry when running requests have ended.';

/**
 * The error for a request that a limit refuses: which limit was exceeded, and when to retry. `most` is what the request may use, if a limit
 * is hard, at the price of `priced_as`; `isHeld` says that running requests of the account have reserved the most that they may use.
 */
export function limitRefusal(
  exchange: Exchange,
  refused: RefusedCharge,
  { most, priced_as }: { readonly most: MostUse | undefined; readonly priced_as: Model | undefined },
  isHeld: boolean,
): GatewayError {
  const { limit, remaining, retry_ms } = refused;
  const isNever = retry_ms === Number.POSITIVE_INFINITY;
  const waits = limit.hard === true && isHeld && !isNever;
  const isUnfitting = limit.hard && most && (isNever || waits || remaining > 0);
  let when = isNever ? undefined : resetSentence(limit, retry_ms, exchange.clock.epoch_ms());
  if (waits) when = whenEnded;
  const named = `${periodOf(limit)} ${unitOf(limit).noun} limit${ownerOf(limit)}`;
  let message = `${exceeded(limit)}${ownerOf(limit)}. ${when}`;
  if (isUnfitting) message = unfitting(exchange, refused, { most, model: priced_as }, named, when);
  else if (waits)
    message = `Rate limit exceeded: running requests have reserved what is left of the ${named}. ${when}`;
  return refusal('rate_limited', {
    message,
    headers: retryHeaders(
      waits ? Math.min(retry_ms, held_retry_ms) : neverResets(limit) ? Infinity : retry_ms,
    ),
    limit: limitLabel(limit),
  });
}

function exceeded(limit: Limit): string {
  const { noun } = unitOf(limit);
  const window = windowOf(limit);
  if (window.kind === 'calendar') return `${window.adjective} ${noun} limit exceeded`;
  const period = window.kind === 'sliding' ? ` per ${window.noun}` : '';
  return `Rate limit exceeded: ${counted(limit.max, noun)}${period}`;
}

/** When a limit admits again what it has refused. The day is that of a minute later: a timer may be some milliseconds early. */
function resetSentence(limit: Limit, retry_ms: number, now_ms: number): string {
  const window = windowOf(limit);
  if (window.kind === 'running') return 'Retry when one has ended.';
  if (window.kind === 'sliding')
    return `Retry in ${counted(Math.max(1, Math.ceil(retry_ms / 1000)), 'second')}.`;
  if (window.resets === 'never') return 'It does not reset.';
  const { time_zone } = limit;
  const day = window.resets === 'on a day' ? ` on ${dayIn(time_zone, now_ms + retry_ms + 60_000)}` : '';
  return `Resets${day} at 00:00 ${time_zone ?? 'UTC'}.`;
}

/** Message for a request that may use more than what is left of a hard limit: what would be reserved, and how to fit. Without `when` it never fits unchanged. */
function unfitting(
  { request }: Exchange,
  { limit, charge, remaining }: RefusedCharge,
  { most, model }: { readonly most: MostUse; readonly model: Model | undefined },
  named: string,
  when: string | undefined,
): string {
  const { max_tokens, client, n = 1 } = request;
  const field = client?.field_names?.max_tokens ?? 'max_tokens';
  // Of embeddings there is nothing to ask for.
  const asked =
    max_tokens === 0 ? '' : max_tokens === undefined ? `without ${field} ` : `with ${field} ${max_tokens} `;
  const amount = amountsOf([limit], charge, 1)[0]!;
  const isMoney = rowOf(limit).unit === 'nano_usd';
  const use = isMoney ? `cost $${dollars(amount)}` : `use ${counted(amount, 'token')}`;
  const fitting = fittingMaxTokens(limit, remaining, most, model);
  return [
    `Rate limit exceeded: ${asked}${n > 1 ? `and n ${n} ` : ''}this request may ${use}, more than ${when ? 'is left of ' : ''}the ${named}.`,
    fitting > 0 && `Send ${field} of at most ${fitting}.`,
    when,
  ]
    .filter(Boolean)
    .join(' ');
}

function periodOf(limit: Limit): string {
  const window = windowOf(limit);
  if (window.kind === 'calendar') return window.adjective.toLowerCase();
  return window.kind === 'sliding' ? window.noun : 'running';
}

/** Dollars with at least two places, rounded up to a hundred-thousandth. */
const dollars = (nano_usd: number): string =>
  (Math.ceil(nano_usd / 1e4) / 1e5).toFixed(5).replace(/0{1,3}$/, '');

/** Who the parent is, is not for those below it to read. */
function ownerOf({ model, key, inherited }: Limit): string {
  const ofModel = model === undefined ? '' : ` for ${model}`;
  if (key !== undefined) return `${ofModel} for this API key`;
  return inherited ? `${ofModel} of the parent account` : ofModel;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
