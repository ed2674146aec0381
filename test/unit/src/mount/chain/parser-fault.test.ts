import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { bodyLimits } from '../../../../../src/config/server-limits.ts';
import { UploadAborted } from '../../../../../src/gateway/inbound/upload.ts';
import { parserFault } from '../../../../../src/mount/chain/parser-fault.ts';

const limits = z.object(bodyLimits).parse({});
const json = { 'content-type': 'application/json' };
const faultOf = (facts: object, headers: Record<string, string> = json, isJson = true) =>
  parserFault(Object.assign(new Error('theirs'), facts), { headers } as IncomingMessage, limits, isJson);

describe("a fault of the application's body parser", () => {
  it.each<[string, object, Record<string, string>, object]>([
    ['entity.parse.failed', { body: '{"a":' }, {}, { message: /^The request body is not valid JSON/ }],
    ['entity.parse.failed', { body: '[1]' }, {}, { message: 'The request body must be a JSON object.' }],
    ['entity.parse.failed', { body: '{"a":1}' }, {}, { message: 'The request body is not valid JSON.' }],
    ['entity.too.large', { limit: 100 }, {}, { status: 413, message: /larger than the 100 bytes/ }],
    ['entity.too.large', {}, {}, { status: 413, message: /larger than the 16777216 bytes/ }],
    ['encoding.unsupported', {}, { 'content-encoding': 'zstd' }, { message: /, not 'zstd'\.$/ }],
    ['encoding.unsupported', {}, { 'content-encoding': ' GZIP' }, { message: /must be identity here/ }],
    ['charset.unsupported', {}, {}, { message: 'Content-Type: the charset must be utf-8.' }],
    ['parameters.too.many', {}, {}, { message: 'The request body must be a JSON object.' }],
    ['request.size.invalid', {}, {}, { message: /as long as Content-Length says/ }],
    ['stream.not.readable', {}, {}, { status: 502, type: 'server_error' }],
    [
      '',
      { status: 400, errno: -3 },
      { 'content-encoding': 'gzip' },
      { message: 'Content-Encoding: the body is not valid gzip.' },
    ],
  ])('%s with %j and %j is told as one of the gateway', (type, facts, headers, expected) => {
    const { message, ...more } = expected as { message?: string | RegExp };
    const fault = faultOf({ type, ...facts }, { ...json, ...headers }) as Error;
    expect(fault).toMatchObject({ status: 400, ...more });
    if (message !== undefined) expect(fault.message).toMatch(message);
  });

  it('is less than a wrong type of content, which is told first where JSON is needed', () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const facts = { type: 'parameters.too.many' };
    expect(faultOf(facts, form)!.message).toMatch(/^Content-Type: must be application\/json, not/);
    expect(faultOf(facts, form, false)!.message).toBe('The request body must be a JSON object.');
    expect(faultOf({ type: 'request.aborted' }, form)).toBeInstanceOf(UploadAborted);
  });

  it('is none where it is the decision of the application, or no error of a parser', () => {
    const others = ['entity.verify.failed', 'toString', undefined].map(type => ({ type }));
    for (const facts of [...others, { status: 400, errno: 1 }]) expect(faultOf(facts)).toBeUndefined();
    expect(parserFault('text', { headers: json } as never, limits, true)).toBeUndefined();
  });
});
