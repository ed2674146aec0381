/** Thrown to answer a request with an error in vLLM's shape. */
export class Refusal extends Error {
  readonly status: number;
  readonly param: string | null;

  constructor(status: number, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.param = param;
  }
}

/** A body ready to be sent. */
export interface Body {
  readonly content_type: string;
  readonly text: string;
}

export const jsonBody = (value: object): Body => ({
  content_type: 'application/json',
  text: JSON.stringify(value),
});

const TYPES: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'UnauthorizedError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  413: 'BadRequestError',
  422: 'BadRequestError',
  429: 'RateLimitError',
  501: 'NotImplementedError',
  503: 'ServiceUnavailableError',
};

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

type Shape = (status: number, message: string, param: string | null) => Body;

/** vLLM's error; older versions send it without the outer object. */
const vllmError = (status: number, message: string, param: string | null) => ({
  message,
  type: TYPES[status] ?? 'InternalServerError',
  param,
  code: status,
});

/** Error bodies that inference servers and the proxies in front of them are known to send. */
const SHAPES = {
  vllm: (...failure) => jsonBody({ error: vllmError(...failure) }),
  object: (...failure) => jsonBody({ object: 'error', ...vllmError(...failure) }),
  string: (_, message) => jsonBody({ error: message }),
  fastapi: (status, msg, param) => {
    if (status !== 422) return jsonBody({ detail: msg });
    return jsonBody({
      detail: [{ type: 'value_error', loc: ['body', param ?? 'messages'], msg, input: null }],
    });
  },
  openrouter: (code, message) =>
    jsonBody({ error: { message, code, metadata: { provider_name: 'Simulated', raw: message } } }),
  anthropic: (status, message) =>
    jsonBody({ type: 'error', error: { type: ANTHROPIC_TYPES[status] ?? 'api_error', message } }),
  llama_cpp: (code, message) =>
    jsonBody({ error: { code, message, type: code < 500 ? 'invalid_request_error' : 'server_error' } }),
  html: (status, message) => ({
    content_type: 'text/html',
    text: `<html>\r\n<head><title>${status}</title></head>\r\n<body>\r\n<center><h1>${status} ${message}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`,
  }),
  text: (_, message) => ({ content_type: 'text/plain; charset=utf-8', text: message }),
  empty: () => ({ content_type: 'text/plain', text: '' }),
} satisfies Record<string, Shape>;

export type ErrorShape = keyof typeof SHAPES;
export const ERROR_SHAPES = Object.keys(SHAPES) as ErrorShape[];

/** The error in the given shape. */
export const errorBody = (
  shape: ErrorShape,
  status: number,
  message: string,
  param: string | null = null,
): Body => SHAPES[shape](status, message, param);
