import { describe, expect, it } from '@jest/globals';
import { GatewayError, refusal } from '../../../../../../src/gateway/exchange/errors.ts';
import {
  failureOf,
  failureOfErrorReply,
  failureOfStatus,
  retryAfter_s,
} from '../../../../../../src/gateway/upstream/attempt/attempt-failure.ts';
import { UpstreamError } from '../../../../../../src/gateway/upstream/http/upstream-error.ts';

const words = JSON.stringify({ error: { message: 'Too long for http://10.0.0.7:8000.' } });
const failed = (status: number, headers = {}, pass_upstream_429 = false) =>
  failureOfStatus(status, headers, words, pass_upstream_429);

describe('the error for an error reply', () => {
  const head = { status: 400, headers: {} };
  const body = JSON.stringify([{ fault: 'Too long.' }]);

  it("has the status and the message that the server's adapter finds in it", () => {
    const errorMessage = (found: unknown) => (found as [{ fault: string }])[0].fault;
    const told = failureOfErrorReply({ errorMessage, errorStatus: () => 422 }, head, body, false);
    expect(told).toMatchObject({ status: 422, kind: 'refused', error: { message: 'Too long.' } });
  });

  it('has the usual ones where the adapter finds none', () => {
    const told = failureOfErrorReply({ errorMessage: () => undefined }, head, words, false);
    expect(told).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining('Too long for [address]') },
    });
  });
});

describe('the error for an upstream status', () => {
  it.each([400, 413, 422])('has the scrubbed message of a %d, where the request is at fault', status => {
    const { error, kind } = failed(status);
    expect(error).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining('Too long for [address]'),
    });
    expect(kind).toBe('refused');
  });

  it.each(['', '<html></html>', '{"error":""}'])('has a message of the gateway for a 400 with %j', body => {
    const { error } = failureOfStatus(400, {}, body, false);
    expect(error.message).toBe('The upstream provider refused the request.');
  });

  it.each([401, 403, 404])(
    'keeps the message of a %d for the log, where the configuration is at fault',
    status => {
      const { error, kind } = failed(status);
      expect(error).toMatchObject({ status: 400, type: 'configuration_error' });
      expect(error.message).not.toContain('long');
      expect((error.cause as Error).message).toContain('Too long');
      expect(kind).toBe('misconfigured');
    },
  );

  it.each([302, 402, 405, 408, 409, 418, 500, 502, 503, 504, 529])(
    'keeps the message of a %d for the log, where the provider is at fault',
    status => {
      const { error, kind } = failed(status);
      expect(error).toMatchObject({ status: 502, type: 'provider_error', headers: {} });
      expect(error.message).not.toContain('long');
      expect((error.cause as Error).message).toContain(`${status}: Too long`);
      expect(kind).toBe('status');
    },
  );

  it('blames the provider for a 429, which concerns the account of the gateway, unless configured otherwise', () => {
    expect(failed(429)).toMatchObject({
      kind: 'rate_limited',
      error: { status: 502, type: 'provider_error' },
    });
    expect(failed(429, { 'retry-after': '7' }, true)).toMatchObject({
      kind: 'rate_limited',
      error: { status: 429, type: 'rate_limit_error', headers: { 'retry-after': '7' } },
    });
  });
});

describe('the Retry-After of an upstream', () => {
  it.each(['0', '7', '86400', 'Wed, 21 Oct 2026 07:28:00 GMT'])('is copied from %s', value => {
    for (const status of [429, 503])
      expect(failed(status, { 'retry-after': value }).error.headers).toEqual({ 'retry-after': value });
  });

  it.each(['', '-1', '1.5', 'soon', '99999999999', '7, 8', 'Wed, 99 Foo GMT', '7\r\nset-cookie: a'])(
    'is not copied from %j',
    value => {
      expect(failed(503, { 'retry-after': value }).error.headers).toEqual({});
    },
  );

  it.each([
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, 30],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT' }, 0],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1.5],
    [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9],
    [{ 'retry-after': 'soon' }, undefined],
  ])('is read from %j as %s seconds', (headers, seconds) => {
    expect(retryAfter_s(headers, Date.parse('2026-10-21T07:27:30Z'))).toBe(seconds);
  });

  it('is not copied where a retry is useless', () => {
    for (const status of [400, 401]) expect(failed(status, { 'retry-after': '7' }).error.headers).toEqual({});
  });
});

describe('an error thrown by an upstream call', () => {
  const coded = (code: string) => Object.assign(new Error(`connect 10.0.0.7 ${code}`), { code });

  it.each([
    ['ECONNREFUSED', false, 'unreachable', 'provider_unreachable'],
    ['ENOTFOUND', false, 'unreachable', 'provider_unreachable'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', false, 'unreachable', 'provider_unreachable'],
    ['ECONNRESET', false, 'unreachable', 'provider_unreachable'],
    ['UND_ERR_CONNECT_TIMEOUT', false, 'timeout', 'provider_unreachable'],
    ['UND_ERR_HEADERS_TIMEOUT', false, 'timeout', 'provider_unreachable'],
    ['UND_ERR_BODY_TIMEOUT', true, 'timeout', 'provider_broke_off'],
    ['ECONNRESET', true, 'broken', 'provider_broke_off'],
    ['UND_ERR_SOCKET', true, 'broken', 'provider_broke_off'],
  ])('of code %s, with the reply begun %s, is of kind %s', (code, begun, kind, row) => {
    const thrown = coded(code);
    const failure = failureOf(thrown, begun);
    expect(failure).toMatchObject({
      kind,
      error: { status: 502, type: 'provider_error', code: row, cause: thrown },
    });
    expect(failure.error.message).not.toContain('10.0.0.7');
  });

  it.each([null, undefined, 'text', 7])('is of kind unreachable for the thrown %j', thrown => {
    expect(failureOf(thrown, false)).toMatchObject({ kind: 'unreachable', error: { status: 502 } });
  });

  it.each([
    [400, 'refused', 400, 'invalid_request_error'],
    [401, 'misconfigured', 400, 'configuration_error'],
    [429, 'rate_limited', 502, 'provider_error'],
    [529, 'status', 502, 'provider_error'],
    [undefined, 'status', 502, 'provider_error'],
  ])('of status %s inside a reply is of kind %s', (told, kind, status, type) => {
    const failure = failureOf(new UpstreamError('Busy at 10.0.0.7.', told), true);
    expect(failure).toMatchObject({ kind, error: { status, type } });
    expect(failure.error.message).not.toContain('10.0.0.7');
    if (told === 400) expect(failure.error.message).toBe('Busy at [address].');
    else expect(failure.error.message).not.toContain('Busy');
    expect((failure.error.cause as Error).message).toContain('Busy');
  });

  it('of status 429 is passed on where that is configured', () => {
    expect(failureOf(new UpstreamError('x', 429), false, true).error).toMatchObject({ status: 429 });
  });

  it.each([
    ['provider_invalid', 'invalid'],
    ['provider_broke_off', 'broken'],
    ['provider_error', 'status'],
  ] as const)('stays unchanged when it is in the catalogue: %s', (code, kind) => {
    const error = refusal(code);
    expect(failureOf(error, true)).toEqual({ error, kind });
    expect(failureOf(error, true).error).toBe(error);
    expect(GatewayError.is(error)).toBe(true);
  });
});
