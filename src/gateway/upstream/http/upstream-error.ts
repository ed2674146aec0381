import { isObject, type Json } from '../../../common/json-object.ts';

const brand = Symbol.for('sluice.UpstreamError');

/** An error in the body of a reply or in the middle of a stream, with the upstream's own message. */
export class UpstreamError extends Error {
  /** Always `UpstreamError`. */
  override readonly name = 'UpstreamError';
  readonly [brand] = true;
  /** The HTTP status that it stands for, if known. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }

  /** Whether `thrown` is an UpstreamError, also of another copy of this package, which plugins may bring along. */
  static is(thrown: unknown): thrown is UpstreamError {
    return typeof thrown === 'object' && thrown !== null && brand in thrown;
  }

  /** The error without a status, for servers such as vLLM and SGLang that use 400 for their own faults. */
  withoutStatus(): UpstreamError {
    return new UpstreamError(this.message);
  }

  /** The error in `body`, if it is one. */
  static in(body: unknown): UpstreamError | undefined {
    const told = errorInBody(body);
    return told === undefined ? undefined : new UpstreamError(told, statusInBody(body));
  }
}

/** The message of an error body in any of the shapes that servers use, or `undefined` if it is not an error. */
export function errorInBody(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const { error, detail } = body;
  if (typeof error === 'string') return error;
  if (error !== undefined && isObject(error))
    return (
      wrappedMessage(error) ??
      textOf(error.message) ??
      textOf(error.type) ??
      (error.message === '' ? '' : beginningOf(error))
    );
  if (body.object === 'error' || body.type === 'error')
    return textOf(body.message) ?? 'error without a message';
  if (detail !== undefined && !('choices' in body)) return detailText(detail);
  return undefined;
}

/** Statuses of error types of OpenAI, Anthropic and vLLM. */
const statusOfType: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  BadRequestError: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 529,
};

/** The HTTP status that an error body stands for: its numeric `code`, or that of its `type`. `attempt-failure.ts` says what a client gets. */
export function statusInBody(body: unknown): number | undefined {
  if (!isObject(body)) return undefined;
  const error = isObject(body.error) ? body.error : body;
  const code = typeof error.code === 'object' ? Number.NaN : Number(error.code);
  if (Number.isInteger(code) && code >= 400 && code <= 599) return code;
  return typeof error.type === 'string' && Object.hasOwn(statusOfType, error.type)
    ? statusOfType[error.type]
    : undefined;
}

/** The message of the provider behind OpenRouter, whose own message is then always the same. */
function wrappedMessage({ message, metadata }: Json): string | undefined {
  if (message !== 'Provider returned error' || !isObject(metadata)) return undefined;
  return typeof metadata.raw === 'string' ? messageOfErrorBody(metadata.raw) : undefined;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const isName = (part: unknown): boolean => typeof part === 'string' || typeof part === 'number';

/** The beginning of a value as JSON. */
function beginningOf(value: unknown): string {
  try {
    return JSON.stringify(value).slice(0, 500);
  } catch {
    // Nested more deeply than can be written again.
    return 'error without a message';
  }
}

/** FastAPI's `detail`: a text, or one entry for each field at fault. */
function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return beginningOf(detail);
  return detail
    .filter(isObject)
    .map(({ loc, msg }) => {
      const path = Array.isArray(loc) ? loc.filter(part => isName(part) && part !== 'body').join('.') : '';
      return `${path}: ${textOf(msg) ?? ''}`;
    })
    .join('; ');
}

/** An error body, parsed if it is JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The message of an error body, JSON or not; `undefined` for markup and for JSON that was cut off. */
export function messageOfErrorBody(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return (errorInBody(body) ?? (isObject(body) ? textOf(body.message) : textOf(body))) || undefined;
  } catch {
    const plain = text.trim();
    return plain === '' || /^[<{[]/.test(plain) ? undefined : plain;
  }
}
