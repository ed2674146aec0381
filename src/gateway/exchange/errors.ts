import type { ErrorType } from '../../common/end-class.ts';

/** One row of the error catalogue. */
export interface ErrorRow {
  /** HTTP status. */
  readonly status: number;
  /** `error.type` of the envelope. */
  readonly type: ErrorType;
  /** Default message. */
  readonly message: string;
  /** Reply headers of this error. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When this error is sent, for operators; shown in the table of docs/reference/errors.md. */
  readonly when: string;
  /** What helps, for operators; shown in docs/reference/troubleshooting.md. */
  readonly remedy: string;
}

/**
 * Every error that a client can receive. A test holds the table of docs/reference/errors.md equal to it. Row names are
 * the `code` that clients see when `openai_fields` is on.
 */
export const errorCatalogue = {
  missing_api_key: {
    status: 401,
    type: 'authentication_error',
    message: "Missing API key. Send 'Authorization: Bearer <API_KEY>' or 'Authorization: Api-Key <API_KEY>'.",
    headers: { 'www-authenticate': 'Bearer realm="api", Api-Key realm="api"' },
    when: 'No `Authorization` header, another scheme, or an empty key.',
    remedy:
      'The client has no key, or a proxy removes it. For clients that send `x-api-key`, set `- auth: { x_api_key: true }`.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'Invalid API key.',
    headers: { 'www-authenticate': 'Bearer realm="api", error="invalid_token"' },
    when: 'The key is unknown or revoked; which of the two is never said.',
    remedy: 'Mistyped, revoked, expired, or of another store: `sluice keys list --config sluice.yaml`.',
  },
  unknown_account: {
    status: 403,
    type: 'permission_error',
    message: 'This account has no access to this API.',
    when: 'The application says with `accountOf` whose request it is, and neither the configuration nor the records store has an account of that id.',
    remedy:
      'Create the account whose id `accountOf` of your application returned, or return `{ id, plan, limits }`. The log has the id.',
  },
  account_disabled: {
    status: 403,
    type: 'permission_error',
    message: 'This account is disabled.',
    when: 'An operator has disabled the account of the records store to which the key belongs, or which `accountOf` names.',
    remedy:
      '`sluice audit --target ACCOUNT --config sluice.yaml` says who disabled it; `sluice accounts enable ACCOUNT --config sluice.yaml` enables it.',
  },
  unknown_url: {
    status: 404,
    type: 'invalid_request_error',
    message: 'Unknown request URL.',
    when: 'No such path below `/v1`. Mounted without `terminal`, the parent application answers instead. Behind `createChain` also a request that a stage must read and cannot.',
    remedy:
      'The base URL lacks `/v1` or has it twice. `/v1/messages` needs `messages: { enabled: true }`, other paths an entry in `passthrough`. An application must pass the full path.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'Method not allowed.',
    when: 'The path exists, the method does not; `Allow` names those that do.',
    remedy:
      'Often a redirect from `http:` to `https:`, which turns a POST into a GET. Use the final address.',
  },
  upgrade_required: {
    status: 426,
    type: 'invalid_request_error',
    message: 'WebSockets are not offered here. Send the request with POST.',
    // RFC 9110, 15.5.22 requires the name of a protocol that is served.
    headers: { connection: 'close, Upgrade', upgrade: 'HTTP/1.1' },
    when: 'A GET that asks for a WebSocket, as Codex does for responses, at a path that takes POST. Clients go on over HTTP.',
    remedy:
      'Codex goes on over HTTP by itself. To offer WebSockets, set [`responses.websocket: true`](clients.md#websocket); in an application [`gateway.upgrade`](in-code.md#websockets) gets them.',
  },
  expectation_failed: {
    status: 417,
    type: 'invalid_request_error',
    message: 'Expect: only 100-continue can be met.',
    when: 'The request has an `Expect` header other than `100-continue`. From the sidecar only: elsewhere the server of the application answers.',
    remedy: 'Remove the `Expect` header from the client or the proxy.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is too large.',
    when: 'The body, or what it decompresses to, exceeds `server.max_body_bytes`; or it decompresses to more than `server.max_decompression_ratio` times its size.',
    remedy:
      "Shorten the request or raise `server.max_body_bytes`. A 413 without `x-request-id` is from the proxy in front, such as nginx's `client_max_body_size`.",
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    message: 'Invalid request.',
    when: 'Malformed body, one with more values or keys than `server.max_body_values` and `max_body_keys`, unknown model, a field outside its accepted values; the message names the field and what is accepted.',
    remedy:
      'The message names the field and what is accepted. `GET /v1/models` lists models and their effort levels. If a library sends the field by itself, see [clients](clients.md#client-libraries).',
  },
  upstream_refused: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The upstream provider refused the request.',
    when: 'The upstream answered 400, 413 or 422, or with an error of such a code inside a 200; its message is passed on, shortened and without addresses or keys. vLLM and SGLang use these codes inside a 200 for faults of their own: those are a `provider_error`.',
    remedy:
      "The message is the provider's. Set the model's `context_length` and `max_completion_tokens` as the server has them, and list parameters that it refuses in `drop_parameters`.",
  },
  provider_misconfigured: {
    status: 400,
    type: 'configuration_error',
    message: 'This model is not available because of a server-side configuration error.',
    when: 'The upstream answered 401, 403 or 404: its address, key or model name in the configuration is wrong. Or the account has a plan that is not configured. Details are in the log.',
    remedy:
      "The provider's key, its `base_url` or the model's name there is wrong: `sluice doctor --config sluice.yaml` tries them. Or the account has a plan that is not configured.",
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Rate limit exceeded.',
    when: "A usage limit of the account is used up; with `pass_upstream_429` also the upstream's own limit.",
    remedy:
      'The message and `limit` in the log name the limit. Wait for `Retry-After`, or raise it: [explain a 429](../how-to/explain-a-429.md).',
  },
  provider_error: {
    status: 502,
    type: 'provider_error',
    message: 'The upstream provider returned an error.',
    when: 'The upstream answered 402, 409, 429 or 5xx, or with another error inside a 200; a valid `Retry-After` is copied.',
    remedy:
      'See `err` in the log, and add a second upstream. For 429 of the provider set `max_concurrent`, or further `api_keys`.',
  },
  provider_unreachable: {
    status: 502,
    type: 'provider_error',
    message: 'The upstream provider could not be reached.',
    when: 'Connection refused, name not resolved, TLS failure, reset or no answer before the reply began.',
    remedy:
      '`sluice doctor --config sluice.yaml` says what is wrong. In a container `127.0.0.1` is the container itself. For a CA of your own set `NODE_EXTRA_CA_CERTS`.',
  },
  provider_invalid: {
    status: 502,
    type: 'provider_error',
    message: 'The upstream provider returned an invalid response.',
    when: "The upstream's reply is not what its format promises, or exceeds the configured size.",
    remedy:
      'Check `adapter` and `base_url`; most servers need `/v1` at the end. Or the reply is larger than `max_reply_bytes`, or has more than 128 choices, 4,096 tool calls or 4,096 parts.',
  },
  provider_broke_off: {
    status: 502,
    type: 'provider_error',
    message: 'The upstream provider closed the stream unexpectedly.',
    when: 'The upstream ended, reset or stalled in the middle of its reply.',
    remedy:
      'The server crashed, see its log. If all replies end after the same `duration_ms`, raise the time limit of the proxy in front of it.',
  },
  provider_timeout: {
    status: 502,
    type: 'provider_error',
    message: 'The upstream provider did not answer in time.',
    when: "The upstream's `first_token_timeout_ms` or `total_timeout_ms` has passed, or its `idle_timeout_ms` on a path that is passed through.",
    remedy:
      '`err` names the limit, mostly `first_token_timeout_ms`. Raise it for slow servers, or set `max_concurrent` so that other requests go elsewhere.',
  },
  provider_unhealthy: {
    status: 502,
    type: 'provider_error',
    message: 'The upstream provider stopped answering.',
    when: "The upstream's health check failed before anything of its reply had arrived, and no other upstream answered either.",
    remedy: 'The server hangs. Restart it, and add a second upstream.',
  },
  out_of_service: {
    status: 502,
    type: 'server_error',
    message: 'Out of service at the moment. Retry later.',
    headers: { 'retry-after': '30' },
    when: 'Operators have paused or are draining every provider of the model, or that of the path.',
    remedy:
      '`sluice providers list --config sluice.yaml`, then `sluice providers resume NAME --config sluice.yaml`.',
  },
  server_error: {
    status: 502,
    type: 'server_error',
    message: 'Temporary server-side error. Retry the request.',
    headers: { 'retry-after': '1' },
    when: 'Overload, shutdown or a bug. Nothing internal is said; the log has the cause under the same request id.',
    remedy:
      '`err` or `reason` in the log has the cause: a stage threw (`stage`, `hook`), every upstream is at its `max_concurrent`, request bodies are at `max_buffered_bytes`, a store is down, or a shutdown. Report a bug with the stack.',
  },
  time_limit: {
    status: 524,
    type: 'timeout_error',
    message:
      'No complete answer within the time limit. Generation continues server-side and is billed; use "stream": true.',
    headers: { 'x-should-retry': 'false' },
    when: 'A non-streamed reply took longer than `server.non_stream_timeout_ms`. Generation is read to its end and billed.',
    remedy: 'See [the client sees 524](#the-client-sees-524).',
  },
} as const satisfies Record<string, ErrorRow>;

/** The name of an error of the catalogue. */
export type ErrorCode = keyof typeof errorCatalogue;

/** Details that a refusal adds to its row of the catalogue. */
export interface ErrorDetail {
  /** For the client, in place of the catalogue's. */
  readonly message?: string | undefined;
  /** The request field at fault, such as `messages[2].content`. */
  readonly param?: string | undefined;
  /** Reply headers beside the catalogue's. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Name of the usage limit that refuses. For the log only, never for the client. */
  readonly limit?: string | undefined;
  /** For the log only, never for the client. */
  readonly cause?: unknown;
}

const brand = Symbol.for('sluice.GatewayError');

/**
 * An error as the client sees it: `type`, `status` and `message`. The `cause` is only logged. Has no stack of its own: capturing
 * one takes longer than the rest of a refusal, and only the cause's stack points to a bug.
 */
export class GatewayError extends Error {
  /** Always `GatewayError`. */
  override readonly name = 'GatewayError';
  readonly [brand] = true;
  /** `error.type` of the envelope. */
  readonly type: string;
  /** HTTP status of the reply, if none has been sent. */
  readonly status: number;
  /** Headers of the reply, such as `retry-after`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The name in the catalogue; undefined for an error of your own. */
  readonly code: string | undefined;
  /** The request field at fault, by its canonical name. */
  readonly param: string | undefined;
  /** Name of the usage limit that refused, if one did; for the log. */
  readonly limit: string | undefined;
  /** Set by the `error-envelope` stage: bodies in OpenAI's form carry `param` and `code` as well. */
  openaiFields = false;

  constructor(
    type: string,
    status: number,
    message: string,
    detail: Omit<ErrorDetail, 'message'> & { code?: string | undefined } = {},
  ) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.type = type;
    this.status = status;
    this.headers = detail.headers ?? {};
    this.code = detail.code;
    this.param = detail.param;
    this.limit = detail.limit;
  }

  /** Whether `thrown` is a GatewayError, also of another copy of this package, which plugins may bring along. */
  static is(thrown: unknown): thrown is GatewayError {
    return typeof thrown === 'object' && thrown !== null && brand in thrown;
  }

  /** The GatewayError that a client may see for anything thrown: a GatewayError as it is, all else as `server_error`. */
  static from(thrown: unknown): GatewayError {
    return GatewayError.is(thrown) ? thrown : refusal('server_error', { cause: thrown });
  }
}

/** Creates an error of the catalogue. */
export function refusal(code: ErrorCode, detail: ErrorDetail = {}): GatewayError {
  const row: ErrorRow = errorCatalogue[code];
  return new GatewayError(row.type, row.status, detail.message ?? row.message, {
    code,
    param: detail.param,
    limit: detail.limit,
    cause: detail.cause,
    headers: { ...row.headers, ...detail.headers },
  });
}

/** Statuses below 500 that time may cure. */
const passing: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/**
 * Reply headers of an error, its own and the advice whether to try again. Agents repeat even a 401, many times, unless they are told that
 * it stays.
 */
export function errorHeaders({ status, headers }: GatewayError): Readonly<Record<string, string>> {
  const stays = status >= 400 && status < 500 && !passing.has(status);
  return stays && !('retry-after' in headers) ? { 'x-should-retry': 'false', ...headers } : headers;
}

/**
 * Refuses a field: `message` starts with its name, as in `max_tokens: 0 is not accepted; …`. Stages use the name in the canonical request;
 * the client reads the name that its own endpoint has for it.
 */
export function invalidField(param: string, problem: string): GatewayError {
  return refusal('invalid_request', { message: `${param}: ${problem}`, param });
}
