import type { GatewayError } from '../../../src/plugin.ts';

/** Anthropic's error types by status. */
const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  524: 'timeout_error',
  529: 'overloaded_error',
};

/** By this code Anthropic's SDKs know to send the whole conversation, without the field `thread`. */
const withoutThread = { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } };

/** The JSON of Anthropic's error envelope, also the data of an `error` event. */
export const anthropicErrorBody = ({ status, message, param }: GatewayError): string => {
  const error = { type: typeOf(status), message, ...(param === 'thread' && withoutThread) };
  return JSON.stringify({ type: 'error', error });
};

const typeOf = (status: number): string =>
  types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
