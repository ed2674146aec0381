/** Shapes of error bodies that inference servers and the proxies in front of them are known to send. */
export const ERROR_SHAPES = [
  'vllm',
  'object',
  'string',
  'fastapi',
  'openrouter',
  'anthropic',
  'llama_cpp',
  'html',
  'text',
  'empty',
] as const;
export type ErrorShape = (typeof ERROR_SHAPES)[number];

/** An error body ready to be sent. */
export interface ErrorBody {
  readonly content_type: string;
  readonly text: string;
}

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

/** vLLM's name for an error of this status. */
export function errorType(status: number): string {
  return TYPES[status] ?? 'InternalServerError';
}

/** The error in the given shape. */
export function errorBody(
  shape: ErrorShape,
  status: number,
  message: string,
  param: string | null = null,
): ErrorBody {
  if (shape === 'empty') return { content_type: 'text/plain', text: '' };
  if (shape === 'text') return { content_type: 'text/plain; charset=utf-8', text: message };
  if (shape === 'html') {
    const page = `<html>\r\n<head><title>${status}</title></head>\r\n<body>\r\n<center><h1>${status} ${message}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`;
    return { content_type: 'text/html', text: page };
  }
  return {
    content_type: 'application/json',
    text: JSON.stringify(errorObject(shape, status, message, param)),
  };
}

function errorObject(
  shape: Exclude<ErrorShape, 'empty' | 'text' | 'html'>,
  status: number,
  message: string,
  param: string | null,
): object {
  const type = errorType(status);
  switch (shape) {
    case 'vllm':
      return { error: { message, type, param, code: status } };
    case 'object':
      return { object: 'error', message, type, param, code: status };
    case 'string':
      return { error: message };
    case 'fastapi':
      if (status !== 422) return { detail: message };
      return {
        detail: [{ type: 'value_error', loc: ['body', param ?? 'messages'], msg: message, input: null }],
      };
    case 'openrouter':
      return { error: { message, code: status, metadata: { provider_name: 'Simulated', raw: message } } };
    case 'llama_cpp':
      return {
        error: { code: status, message, type: status < 500 ? 'invalid_request_error' : 'server_error' },
      };
    case 'anthropic':
      return { type: 'error', error: { type: ANTHROPIC_TYPES[status] ?? 'api_error', message } };
  }
}
