import {
  AlreadyThere,
  ConfiguredRecord,
  GatewayError,
  isOutage,
  KeyEnded,
  type Log,
  NameTaken,
  NotThere,
  RecordRefused,
  TooManyKeys,
} from '../../src/plugin.ts';

/** Every error of the Admin API by its `code`. */
export const apiErrors = {
  missing_api_key: [401, 'authentication_error', "Missing key. Send 'Authorization: Bearer <ADMIN_KEY>'."],
  invalid_api_key: [401, 'authentication_error', 'Invalid key.'],
  too_many_attempts: [429, 'rate_limit_error', 'Too many attempts with wrong keys.'],
  permission_denied: [403, 'permission_error', 'The role of this key does not allow this.'],
  unknown_url: [404, 'invalid_request_error', 'Unknown request URL.'],
  method_not_allowed: [405, 'invalid_request_error', 'Method not allowed.'],
  not_found: [404, 'invalid_request_error', 'There is no such record.'],
  invalid_request: [400, 'invalid_request_error', 'Invalid request.'],
  unsupported_media_type: [415, 'invalid_request_error', 'The body must be application/json.'],
  body_too_large: [413, 'invalid_request_error', 'The request body is too large.'],
  answer_too_long: [422, 'invalid_request_error', 'The answer would be too long.'],
  conflict: [409, 'invalid_request_error', 'The record is not as this request needs it.'],
  precondition_failed: [412, 'invalid_request_error', 'The record was changed meanwhile: read it again.'],
  idempotency_key_reused: [
    422,
    'invalid_request_error',
    'This Idempotency-Key was used for another request.',
  ],
  answer_lost: [409, 'invalid_request_error', 'This request was carried out, but its answer is not kept.'],
  store_rejected: [422, 'invalid_request_error', 'The records store rejected this change.'],
  store_unavailable: [503, 'server_error', 'The records store does not answer. Retry the request.'],
  state_unavailable: [
    503,
    'server_error',
    'The use of limits cannot be read at the moment. Retry the request.',
  ],
  configuration_refused: [422, 'invalid_request_error', 'The configuration cannot be used.'],
  server_error: [500, 'server_error', 'Server-side error. The log says why.'],
} as const satisfies Record<string, readonly [status: number, type: string, message: string]>;

export type ApiErrorCode = keyof typeof apiErrors;

interface Detail {
  readonly message?: string | undefined;
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error of the table, which its client sees. */
export function apiError(code: ApiErrorCode, { message, param, headers }: Detail = {}): GatewayError {
  const [status, type, usual] = apiErrors[code];
  return new GatewayError(type, status, message ?? usual, { code, param, headers });
}

/** The error that a client sees for anything thrown; what it must not see is logged. */
export function apiErrorOf(thrown: unknown, log: Log): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  if (thrown instanceof NotThere) return apiError('not_found', { message: sentence(thrown) });
  if ([AlreadyThere, KeyEnded, NameTaken, TooManyKeys].some(known => thrown instanceof known))
    return apiError('conflict', { message: sentence(thrown as Error) });
  if (thrown instanceof ConfiguredRecord) return apiError('conflict', { message: sentence(thrown) });
  if (thrown instanceof RecordRefused)
    return thrown.field === undefined
      ? apiError('store_rejected')
      : apiError('invalid_request', { message: sentence(thrown), param: thrown.field });
  if (isOutage(thrown)) {
    log.warn({ err: thrown }, 'records store unavailable to the Admin API');
    return apiError('store_unavailable', { headers: { 'retry-after': '1' } });
  }
  log.error({ err: thrown }, 'failed to answer a request to the Admin API');
  return apiError('server_error');
}

/** What the store says of a record, as a sentence. */
const sentence = ({ message }: Error): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
