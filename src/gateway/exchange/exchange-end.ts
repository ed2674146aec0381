import type { EndReason } from '../../common/end-class.ts';
import type { GatewayError } from './errors.ts';

export type { EndReason } from '../../common/end-class.ts';

/** Reasons that can end an exchange before its reply is complete. */
export type Cause = Exclude<EndReason, 'completed' | 'background_aborted'>;

/** The parts of an error that are kept after it was sent. */
export type SentError = Pick<GatewayError, 'type'> &
  Partial<Pick<GatewayError, 'code' | 'limit' | 'message' | 'param'>>;

/**
 * How one exchange ends: the only place that decides its `end_reason`, `status`, `error_type`, and whether its reply has been handed over.
 * All other code reports facts here and reads the decision. The first row that applies decides `end_reason`:
 *
 * | # | fact                                        | end_reason        | reported by                                   |
 * | - | ------------------------------------------- | ----------------- | --------------------------------------------- |
 * | 1 | a background read was given up              | `background_aborted` | background                                 |
 * | 2 | the first cause that was reported:          |                   |                                               |
 * |   | - the connection closed before the end      | `client_gone`     | start-exchange                                |
 * |   | - nothing was read for `slow_client_ms`     | `slow_client`     | slow-client                                   |
 * |   | - `non_stream_timeout_ms` passed            | `time_limit`      | time-limit                                    |
 * |   | - the gateway closes                        | `shutdown`        | gateway                                       |
 * |   | - an operator ends it                       | `cancelled`       | running-exchanges                             |
 * |   | - a hook took longer than its limit         | `internal_error`  | chain                                         |
 * |   | - the last attempt, or the handler, failed  | `upstream_failed` | attempts, passthrough, handler                |
 * |   | - the upstream blamed the request           | `refused`         | attempts, passthrough, handler                |
 * |   | - overload: no memory, no usable upstream   | `refused`         | buffered-bytes, attempts                      |
 * |   | - an error that goes to a chain around      | see rows 3 to 5   | runner                                        |
 * | 3 | the error sent was a `server_error`         | `internal_error`  | writers                                       |
 * | 4 | the error sent was a `provider_error`       | `upstream_failed` | writers                                       |
 * | 5 | any other error or status from 400 was sent | `refused`         | writers                                       |
 * | 6 | none of these                               | `completed`       |                                               |
 *
 * Among causes the earliest wins because the later ones are its consequences: an upstream is cut because the client left, a connection is
 * reset because its client was slow, a client leaves while a failure is sent to it.
 */
export class ExchangeEnd {
  #cause: Cause | undefined;
  #client_gone = false;
  #status = 0;
  #error: SentError | undefined;
  #reply_ended = false;
  #read_aborted = false;

  /** The future `end_reason`; undefined while nothing has gone wrong. */
  get cause(): Cause | undefined {
    return this.#cause;
  }

  /** The `end_reason` of an exchange that has ended. */
  get reason(): EndReason {
    if (this.#read_aborted) return 'background_aborted';
    return this.#cause ?? conclusion(this.#error?.type, this.#status) ?? 'completed';
  }

  /** The HTTP status sent; 0 before. */
  get status(): number {
    return this.#status;
  }

  /** The error sent, in the envelope or an error event, if one was. */
  get error(): SentError | undefined {
    return this.#error;
  }

  /** True once the whole reply was handed to the connection. A response that closes earlier has lost its client. */
  get reply_ended(): boolean {
    return this.#reply_ended;
  }

  /** True if the connection was closed, whatever the `cause`. */
  get client_gone(): boolean {
    return this.#client_gone;
  }

  /** Reports a cause; the first one counts. */
  causedBy(cause: Cause): void {
    this.#cause ??= cause;
  }

  /** Reports that the connection was closed before the reply was complete. */
  clientLeft(): void {
    this.#client_gone = true;
    this.#cause ??= 'client_gone';
  }

  /** Reports an error that goes to an outer chain, which decides what its client sees. */
  handedOn(error_type: string): void {
    this.#cause ??= conclusion(error_type, 0);
  }

  /** Reports a written head. The last one counts, since an outer chain writes last; but 524 stays while the reply behind it is read on. */
  replied(status: number): void {
    if (this.#status !== 524) this.#status = status;
  }

  /** Reports an error sent as the reply or in a stream. */
  errorSent(error: SentError): void {
    this.#error = error;
  }

  /** Reports that a reply was to be read on for the bill, after a 524 or for a client that left, and was not read to its end. */
  readAborted(): void {
    this.#read_aborted = true;
  }

  replyEnded(): void {
    this.#reply_ended = true;
  }
}

/** End reason implied by an error type or status; undefined for a success. */
function conclusion(error_type: string | undefined, status: number): Cause | undefined {
  if (error_type === 'server_error') return 'internal_error';
  if (error_type === 'provider_error') return 'upstream_failed';
  return error_type !== undefined || status >= 400 ? 'refused' : undefined;
}
