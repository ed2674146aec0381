import {
  amountsOf,
  type Charge,
  type ChatRequest,
  type Limit,
  rowOf,
  unitOf,
  windowOf,
} from '../../../src/plugin.ts';

/** When what running requests hold is free again. */
export const whenEnded = 'Retry when running requests have ended.';

/** Message for the client: which limit was exceeded, and when to retry. `isHeld`: running requests have reserved what is left. */
export function refusalMessage(limit: Limit, retry_ms: number, now_epoch_ms: number, isHeld = false): string {
  const { noun } = unitOf(limit);
  const window = windowOf(limit);
  if (isHeld)
    return `Rate limit exceeded: running requests have reserved what is left of the ${periodOf(limit)} ${noun} limit${ownerOf(limit)}. ${whenEnded}`;
  const exceeded =
    window.kind === 'calendar'
      ? `${window.adjective} ${noun} limit exceeded`
      : `Rate limit exceeded: ${counted(limit.max, noun)}${window.kind === 'sliding' ? ` per ${window.noun}` : ''}`;
  return `${exceeded}${ownerOf(limit)}. ${resetSentence(limit, retry_ms, now_epoch_ms)}`;
}

/** When a limit admits again what it has refused. */
export function resetSentence(limit: Limit, retry_ms: number, now_epoch_ms: number): string {
  const window = windowOf(limit);
  if (window.kind === 'sliding') return retryIn(retry_ms);
  if (window.kind === 'running') return 'Retry when one has ended.';
  return `Resets${window.resets_on_day ? ` on ${dayOf(now_epoch_ms + retry_ms)}` : ''} at 00:00 UTC.`;
}

interface Unfitting {
  readonly request: ChatRequest;
  readonly charge: Charge;
  /** The largest `max_tokens` that fits; not above 0 if none does. */
  readonly fitting: number;
  /** When it would fit unchanged, as a sentence; absent for never. */
  readonly when: string | undefined;
}

/** Message for a request that may use more than what is left of a hard limit: what would be reserved, and how to fit. */
export function unfittingMessage(limit: Limit, { request, charge, fitting, when }: Unfitting): string {
  const { max_tokens, client, n = 1 } = request;
  const field = client?.field_names?.max_tokens ?? 'max_tokens';
  const asked = max_tokens === undefined ? `without ${field}` : `with ${field} ${max_tokens}`;
  const amount = amountsOf([limit], charge, 1)[0]!;
  const isMoney = rowOf(limit).unit === 'nano_usd';
  const most = isMoney ? `cost $${dollars(amount)}` : `use ${counted(amount, 'token')}`;
  return [
    `Rate limit exceeded: ${asked}${n > 1 ? ` and n ${n}` : ''} this request may ${most}, more than ${when ? 'is left of ' : ''}the ${periodOf(limit)} ${unitOf(limit).noun} limit${ownerOf(limit)}.`,
    fitting > 0 && `Send ${field} of at most ${fitting}.`,
    when,
  ]
    .filter(Boolean)
    .join(' ');
}

function periodOf(limit: Limit): string {
  const window = windowOf(limit);
  return window.kind === 'calendar' ? window.adjective.toLowerCase() : 'minute';
}

/** Dollars with at least two places, rounded up to a hundred-thousandth. */
const dollars = (nano_usd: number): string =>
  (Math.ceil(nano_usd / 1e4) / 1e5).toFixed(5).replace(/0{1,3}$/, '');

const ownerOf = ({ model, key }: Limit): string =>
  `${model === undefined ? '' : ` for ${model}`}${key === undefined ? '' : ' for this API key'}`;

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const retryIn = (ms: number): string => `Retry in ${counted(Math.max(1, Math.ceil(ms / 1000)), 'second')}.`;

/** UTC day of a minute later: a timer may be some milliseconds early, before the day that is meant. */
const dayOf = (epoch_ms: number): string => new Date(epoch_ms + 60_000).toISOString().slice(0, 10);
