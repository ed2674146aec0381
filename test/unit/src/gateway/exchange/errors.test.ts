import { describe, expect, it } from '@jest/globals';
import { errorEnvelope } from '../../../../../plugins/stages/error-envelope/index.ts';
import { openAiError } from '../../../../../src/gateway/dialects/openai-error.ts';
import {
  type ErrorCode,
  type ErrorRow,
  errorCatalogue,
  errorHeaders,
  GatewayError,
  invalidField,
  refusal,
} from '../../../../../src/gateway/exchange/errors.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

const rows = Object.entries(errorCatalogue) as [ErrorCode, ErrorRow][];

/** Every status with the types that belong to it. */
const typesByStatus: Record<number, readonly string[]> = {
  400: ['invalid_request_error', 'configuration_error'],
  401: ['authentication_error'],
  403: ['permission_error'],
  404: ['invalid_request_error'],
  405: ['invalid_request_error'],
  413: ['invalid_request_error'],
  417: ['invalid_request_error'],
  426: ['invalid_request_error'],
  429: ['rate_limit_error'],
  502: ['provider_error', 'server_error'],
  524: ['timeout_error'],
};

describe('the error catalogue', () => {
  it.each(rows)('gives %s the type of its status, and a message', (_, { status, type, message, when }) => {
    expect(typesByStatus[status]).toContain(type);
    expect(message).toMatch(/^[A-Z].*[.!]$/);
    expect(when).toMatch(/^\S.*\.$/);
  });

  it.each(rows)('makes exactly the envelope for %s', (code, { status, type, message, headers }) => {
    const error = refusal(code);
    expect(openAiError(error)).toEqual({ error: { message, type } });
    expect(error).toMatchObject({ status, type, message, code, headers: headers ?? {} });
  });

  it.each(rows)('adds `param` and `code` to %s with openai_fields', (code, { type, message }) => {
    const stage = errorEnvelope({ openai_fields: true }).plan.create(sampleSetup());
    const shown = (error: GatewayError) => openAiError(stage.onError!(sampleExchange(), error));
    expect(shown(refusal(code))).toEqual({ error: { message, type, param: null, code } });
    expect(shown(refusal(code, { param: 'n' }))).toEqual({ error: { message, type, param: 'n', code } });
  });

  it('covers all types that the specification names', () => {
    const types = new Set(rows.map(([, { type }]) => type));
    expect([...types].sort()).toEqual([...new Set(Object.values(typesByStatus).flat())].sort());
  });
});

describe('the headers of an error', () => {
  it.each<[ErrorCode, Record<string, string>]>([
    ['missing_api_key', { 'www-authenticate': 'Bearer realm="api", Api-Key realm="api"' }],
    ['invalid_api_key', { 'www-authenticate': 'Bearer realm="api", error="invalid_token"' }],
    ['server_error', { 'retry-after': '1' }],
    ['time_limit', { 'x-should-retry': 'false' }],
  ])('are those of the specification for %s', (code, headers) => {
    expect(refusal(code).headers).toEqual(headers);
  });

  it.each(rows)('say of %s whether to send the request again', (code, { status }) => {
    const advice = status === 429 || status === 502 ? undefined : 'false';
    expect(errorHeaders(refusal(code))['x-should-retry']).toBe(advice);
  });

  it('say of an error of a stage whether to send the request again, unless the stage has said it', () => {
    const advice = (status: number, headers = {}) =>
      errorHeaders(new GatewayError('own', status, 'No.', { headers }))['x-should-retry'];
    expect([401, 402, 451, 408, 409, 425, 429, 503].map(status => advice(status))).toEqual([
      ...['false', 'false', 'false'],
      ...[undefined, undefined, undefined, undefined, undefined],
    ]);
    expect(advice(403, { 'retry-after': '5' })).toBeUndefined();
    expect(advice(403, { 'x-should-retry': 'true' })).toBe('true');
  });

  it('can be extended, and survive the error-envelope stage', () => {
    const cause = new Error('inner');
    const error = refusal('server_error', { headers: { connection: 'close' }, cause });
    expect(error.headers).toEqual({ 'retry-after': '1', connection: 'close' });
    for (const openai_fields of [false, true]) {
      const stage = errorEnvelope({ openai_fields }).plan.create(sampleSetup());
      expect(stage.onError!(sampleExchange(), error)).toMatchObject({
        status: 502,
        type: 'server_error',
        headers: error.headers,
        cause,
      });
    }
  });
});

describe('GatewayError.from', () => {
  it('returns an error for clients unchanged', () => {
    const error = new GatewayError('teapot_error', 418, 'I am one.');
    expect(GatewayError.from(error)).toBe(error);
    expect(openAiError(error)).toEqual({ error: { message: 'I am one.', type: 'teapot_error' } });
  });

  it.each([new TypeError('x is not a function'), 'text', undefined, null, { status: 400, message: 'fake' }])(
    'hides the details of %p',
    thrown => {
      const error = GatewayError.from(thrown);
      expect(openAiError(error)).toEqual({
        error: { message: 'Temporary server-side error. Retry the request.', type: 'server_error' },
      });
      expect(error).toMatchObject({ status: 502, headers: { 'retry-after': '1' } });
      expect(error.cause).toBe(thrown);
    },
  );

  it('recognizes the errors of another copy of the package', () => {
    const foreign = Object.assign(new Error('No.'), { [Symbol.for('sluice.GatewayError')]: true });
    expect(GatewayError.from(foreign)).toBe(foreign);
  });
});

describe('the message of an invalid field', () => {
  it('starts with the name of the field', () => {
    const error = invalidField('messages[2].content', 'must be a string.');
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'messages[2].content' });
    expect(error.message).toBe('messages[2].content: must be a string.');
  });
});

describe('the stack of an error', () => {
  const stackOf = (thrown: unknown): string => (thrown as Error).stack ?? '';

  it.each(rows)('is not captured for a refusal: %s', code => {
    expect(refusal(code)).toBeInstanceOf(Error);
    expect(stackOf(refusal(code))).not.toMatch(/\n\s+at /);
    expect(stackOf(invalidField('n', 'must be 1'))).not.toMatch(/\n\s+at /);
  });

  it('is, for an internal error, that of its cause, which the log needs', () => {
    const fault = new TypeError('x is not a function');
    const { cause } = GatewayError.from(fault);
    expect(cause).toBe(fault);
    expect(stackOf(cause)).toMatch(/errors\.test\.ts/);
  });

  it('is captured again for errors made after a refusal', () => {
    const { stackTraceLimit } = Error;
    refusal('server_error');
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
    expect(stackOf(new Error('later'))).toMatch(/errors\.test\.ts/);
  });
});
