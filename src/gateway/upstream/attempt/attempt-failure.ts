import type { IncomingHttpHeaders } from 'node:http';
import { storable } from '../../../common/printable.ts';
import { GatewayError, refusal } from '../../exchange/errors.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { withoutPrompt } from '../../exchange/prompt-filter.ts';
import type { Adapter } from '../adapter.ts';
import { scrubbed, withoutCredentials } from '../http/scrub.ts';
import type { ResponseHead } from '../http/upstream-call.ts';
import { jsonOf, messageOfErrorBody, UpstreamError } from '../http/upstream-error.ts';

/** An attempt that failed: what the client sees, and the kind for metrics. */
export interface Failure {
  readonly error: GatewayError;
  readonly kind: FailureKind;
  /** The error reply, parsed if it is JSON. */
  readonly body?: unknown;
  /** The upstream's `Retry-After`. */
  readonly retry_after_s?: number | undefined;
  /** True if only the key was at fault and the provider has another one. */
  readonly another_key?: boolean;
}

export const failureKinds = [
  'refused',
  'misconfigured',
  'rate_limited',
  'status',
  'unreachable',
  'stale_connection',
  'timeout',
  'unhealthy',
  'broken',
  'invalid',
  'aborted',
] as const;

export type FailureKind = (typeof failureKinds)[number];

/** What each kind says of the provider, for the documents. */
export const failureMeanings: Readonly<Record<FailureKind, string>> = {
  refused: 'answered 400, 413 or 422: the request is wrong',
  misconfigured: "answered 401, 403 or 404: its key, its address or the model's name is wrong",
  rate_limited: 'answered 429',
  status: 'answered with another error status, or with an error inside a 200',
  unreachable: 'was not reached: refused, no such name, TLS, or lost before the reply began',
  stale_connection:
    'closed a kept connection as the request came. The request is sent once more on a new connection; on a path of `passthrough` only if at most 64 KiB of its body were sent. Circuit breaker and retry budget do not count it',
  timeout: 'did not answer, or not go on, within its time limits',
  unhealthy: 'failed its health check before anything of the reply had arrived',
  broken: 'broke off in the middle of its reply',
  invalid: 'sent a reply that is not in its format, or is too large',
  aborted: 'was given up by the gateway: the client had left, or the gateway was stopped',
};

/** Error that carries a failure which was classified where it was thrown. */
export class AttemptFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.error.message);
    this.failure = failure;
  }
}

const kindsOfErrors: Readonly<Record<string, FailureKind>> = {
  provider_invalid: 'invalid',
  provider_broke_off: 'broken',
  provider_timeout: 'timeout',
  provider_unhealthy: 'unhealthy',
};

/** Kinds that count against the circuit breaker; refusals, rate limits and misconfiguration do not. */
const faults: ReadonlySet<FailureKind> = new Set(['status', 'unreachable', 'timeout', 'broken', 'invalid']);

export const isProvidersFault = ({ kind }: Failure): boolean => faults.has(kind);

/** False if the request is wrong at every provider, or the gateway aborted it. */
export const isRetryable = ({ kind }: Failure): boolean => kind !== 'refused' && kind !== 'aborted';

/** End reason of an exchange whose last attempt failed in this way. */
export const causeOf = ({ kind }: Failure): 'refused' | 'upstream_failed' =>
  kind === 'refused' ? 'refused' : 'upstream_failed';

const max_text = 500;

/** What a failure says of its provider, for operators: scrubbed, without quotations of the prompt, at most 500 characters. */
export function textOfFailure(exchange: Exchange, { error }: Pick<Failure, 'error'>): string {
  const { cause } = error;
  // A parser quotes the reply that it cannot read.
  const isReadable = cause instanceof Error && !(cause instanceof SyntaxError);
  const { message, code } = (isReadable ? cause : error) as Error & { readonly code?: unknown };
  return storable(String(withoutPrompt(exchange, scrubbed(String(message || code)))), max_text);
}

/** An error reply as the adapter understands it. `status` is the standard one. */
export function failureOfErrorReply(
  adapter: Pick<Adapter, 'errorStatus' | 'errorMessage'>,
  { status: sent, headers }: ResponseHead,
  text: string,
  pass_upstream_429: boolean,
): Failure & { readonly status: number } {
  const body = jsonOf(text);
  // Some servers use a status in a way of their own.
  const status = adapter.errorStatus?.(sent, body) ?? sent;
  const message = adapter.errorMessage?.(body);
  return { ...failureOfStatus(status, headers, text, pass_upstream_429, message), body, status };
}

/** Failure for an upstream's error status. */
export function failureOfStatus(
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
  pass_upstream_429: boolean,
  message = messageOfErrorBody(body),
): Failure {
  const cause = new Error(`upstream status ${status}: ${withoutCredentials(message ?? body)}`);
  return failureOfError(status, message, cause, pass_upstream_429, retryAfter(headers['retry-after']));
}

/** Failure for an error status of a head or inside a reply. */
function failureOfError(
  status: number,
  message: string | undefined,
  cause: Error,
  pass_upstream_429: boolean,
  retry?: string,
): Failure {
  const detail = { cause, ...(retry !== undefined && { headers: { 'retry-after': retry } }) };
  switch (status) {
    case 400:
    case 413:
    case 422: {
      const shown = (message && scrubbed(message)) || undefined;
      return { kind: 'refused', error: refusal('upstream_refused', { message: shown, cause }) };
    }
    case 401:
    case 403:
    case 404:
      return { kind: 'misconfigured', error: refusal('provider_misconfigured', { cause }) };
    case 429: {
      const error = pass_upstream_429
        ? refusal('rate_limited', { ...detail, message: 'The upstream provider is at its rate limit.' })
        : refusal('provider_error', detail);
      return { kind: 'rate_limited', error };
    }
    default:
      return { kind: 'status', error: refusal('provider_error', detail) };
  }
}

/** `value` if it is a valid `Retry-After`: whole seconds or a date. */
function retryAfter(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value)) return value;
  return /^[A-Z][a-z]{2}, .+ GMT$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

/** Seconds for which the upstream wants no requests, from `retry-after-ms` or `retry-after`. */
export function retryAfter_s(headers: IncomingHttpHeaders, now_epoch_ms: number): number | undefined {
  const precise_ms = headers['retry-after-ms'];
  if (typeof precise_ms === 'string' && /^\d{1,9}(\.\d+)?$/.test(precise_ms))
    return Number(precise_ms) / 1000;
  const valid = retryAfter(headers['retry-after']);
  if (valid === undefined) return undefined;
  return /^\d+$/.test(valid) ? Number(valid) : Math.max(0, (Date.parse(valid) - now_epoch_ms) / 1000);
}

const timeouts: ReadonlySet<unknown> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Failure of a request whose kept connection was closed by the server as it came. */
export const staleConnection = (cause: unknown): Failure => ({
  kind: 'stale_connection',
  error: refusal('provider_unreachable', { cause }),
});

/** Failure for an error thrown while the upstream was called. `begun`: its reply had begun. */
export function failureOf(thrown: unknown, begun: boolean, pass_upstream_429 = false): Failure {
  if (thrown instanceof AttemptFailed) return thrown.failure;
  if (UpstreamError.is(thrown)) {
    const { status, message } = thrown;
    const cause = new Error(
      `upstream error ${status ?? 'without a status'} in its reply: ${withoutCredentials(message)}`,
    );
    return failureOfError(status ?? 500, message, cause, pass_upstream_429);
  }
  if (GatewayError.is(thrown)) return { error: thrown, kind: kindsOfErrors[thrown.code ?? ''] ?? 'status' };
  // Nested more deeply than the adapter could follow.
  if (thrown instanceof RangeError)
    return {
      error: refusal('provider_invalid', { cause: thrown }),
      kind: kindsOfErrors.provider_invalid ?? 'status',
    };
  const error = refusal(begun ? 'provider_broke_off' : 'provider_unreachable', { cause: thrown });
  if (timeouts.has((thrown as { code?: unknown } | null)?.code)) return { error, kind: 'timeout' };
  return { error, kind: begun ? 'broken' : 'unreachable' };
}
