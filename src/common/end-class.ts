/** Why an exchange ended. */
export type EndReason =
  | 'completed'
  | 'refused' // by a stage or by the gateway, before the upstream was asked; or by the upstream, as the client's mistake
  | 'upstream_failed'
  | 'client_gone'
  | 'slow_client'
  | 'time_limit' // 524 sent, generation read to its end
  | 'background_aborted' // 524 sent or client gone, and its reply was not read to its end: max_background, max_background_ms, shutdown
  | 'shutdown'
  | 'cancelled' // by an operator
  | 'internal_error';

/** Classes of ends that count as errors, by who has to act: the provider, the operator, the account's plan or key, the client's code. */
export const errorClasses = ['provider_failed', 'gateway_failed', 'refusal', 'client_error'] as const;
/** One of these classes. */
export type ErrorClass = (typeof errorClasses)[number];
/** Those that are no client's doing: what an error rate counts. */
export const serviceFailures: readonly ErrorClass[] = ['provider_failed', 'gateway_failed'];
/** How many ends of each class there were. */
export interface ErrorCounts extends Readonly<Record<ErrorClass, number>> {
  /** The provider failed. */
  readonly provider_failed: number;
  /** The gateway failed. */
  readonly gateway_failed: number;
  /** Refused for the account's plan or key. */
  readonly refusal: number;
  /** Mistakes of the client. */
  readonly client_error: number;
}
/** No errors. */
export const noErrors: ErrorCounts = { provider_failed: 0, gateway_failed: 0, refusal: 0, client_error: 0 };

/** What an end says of the service: an error of one class, or none. */
export type EndClass = ErrorClass | 'completed' | 'client_left';

/** Types of errors that the gateway sends: each has its class. */
export type ErrorType = keyof typeof classOfType;

/** The class of an error, where the end reason leaves it open. */
export const classOfType = {
  authentication_error: 'refusal',
  permission_error: 'refusal',
  rate_limit_error: 'refusal',
  invalid_request_error: 'client_error',
  provider_error: 'provider_failed',
  server_error: 'gateway_failed',
  timeout_error: 'gateway_failed',
  configuration_error: 'gateway_failed',
} as const satisfies Readonly<Record<string, ErrorClass>>;

interface ReasonClass {
  /** The class without an error that says more. */
  readonly own: EndClass;
  /** Whether the type of the error decides. */
  readonly isOpen: boolean;
  /** Whether alerts and boards count it as failed, whatever the type of its error. */
  readonly isFailed: boolean;
}

const open = (own: EndClass, isFailed = false): ReasonClass => ({ own, isOpen: true, isFailed });
const closed = (own: EndClass, isFailed = false): ReasonClass => ({ own, isOpen: false, isFailed });

/** The class of every end reason. */
export const classOfReason: Readonly<Record<EndReason, ReasonClass>> = {
  completed: open('completed'),
  refused: open('refusal'),
  upstream_failed: open('provider_failed', true),
  background_aborted: open('client_left'),
  // An error that follows is a consequence.
  client_gone: closed('client_left'),
  slow_client: closed('client_left'),
  internal_error: closed('gateway_failed', true),
  time_limit: closed('gateway_failed', true),
  shutdown: closed('gateway_failed'),
  cancelled: closed('gateway_failed'),
};

/** All end reasons. */
export const endReasons = Object.keys(classOfReason) as readonly EndReason[];

/** Those that alerts and boards count as failed, whatever the type of the error. */
export const failedReasons: readonly EndReason[] = endReasons.filter(
  reason => classOfReason[reason].isFailed,
);

/** Types of errors that are clients' doing. A provider that failed, such as one at its own rate limit, has failed whatever its client was told. */
export const clientTypes: readonly ErrorType[] = (Object.keys(classOfType) as ErrorType[]).filter(
  type => !serviceFailures.includes(classOfType[type]),
);

/** Statuses of refusals; all others below 500 are clients' errors. */
export const refusal_statuses: readonly number[] = [401, 403, 429];

/**
 * The class of an end. `error` is the type of the error that was sent, its status as text for one without a type, or empty. An application's
 * own type of error has the class of the end reason.
 */
export function endClassOf(end_reason: string, error: string): EndClass {
  // Rows of other versions may have other reasons.
  const { own, isOpen } = Object.hasOwn(classOfReason, end_reason)
    ? classOfReason[end_reason as EndReason]
    : open('completed');
  if (!isOpen || error === '') return own;
  if (Object.hasOwn(classOfType, error)) {
    const type = error as ErrorType;
    return own === 'provider_failed' && clientTypes.includes(type) ? own : classOfType[type];
  }
  if (own === 'provider_failed' || !/^\d{3}$/.test(error)) return own;
  const status = Number(error);
  if (refusal_statuses.includes(status)) return 'refusal';
  return status >= 500 ? 'gateway_failed' : 'client_error';
}

/** Whether an end is an error of any class. */
export const isErrorClass = (end: EndClass): end is ErrorClass =>
  (errorClasses as readonly EndClass[]).includes(end);

/** What `endClassOf` takes as the error: its type, or the status of one without a type. */
export const errorNameOf = (error_type: string | null | undefined, status: number): string =>
  error_type ?? (status >= 400 ? String(status) : '');

/** Whether an end is a failure of a provider or of the gateway; the arguments are those of `endClassOf`. */
export const isServiceFailure = (end_reason: string, error: string): boolean =>
  (serviceFailures as readonly EndClass[]).includes(endClassOf(end_reason, error));
