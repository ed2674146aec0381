import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { hasBody, replayBody, restoreBody } from '../../../../src/mount/replay-body.ts';

/** A request whose body was read to its end, by what has set `body`. */
async function read(headers: Record<string, string>, body?: unknown) {
  const request = Object.assign(new IncomingMessage(new Socket()), { headers, body });
  request.push('old');
  request.push(null);
  await text(request);
  return request;
}
const chunked = { 'transfer-encoding': 'chunked', 'content-encoding': 'gzip' };
const json = { 'content-type': 'application/json' };
const given = { a: 'é' };
const written = '{"a":"é"}';

describe('a body that was read', () => {
  it.each<[unknown, unknown]>([
    [undefined, undefined],
    ['old', written],
    [Buffer.from('old'), Buffer.from(written)],
    [{ old: 1 }, given],
  ])(
    'is there again for the handler behind, also in the form in which %p was parsed',
    async (parsed, form) => {
      const request = await read({ ...chunked, 'content-type': 'text/plain' }, parsed);
      replayBody(request, given);
      expect([request.body, request.headers]).toEqual([form, { ...json, 'content-length': '10' }]);
      expect(await text(request)).toBe(written);
    },
  );

  it.each<[Record<string, string>, unknown, string]>([
    [chunked, 'as it was', 'as it was'],
    [chunked, Buffer.from('as it was'), 'as it was'],
    [{ ...chunked, 'content-type': 'application/x+json; charset=utf-8' }, given, written],
  ])('is restored with %j from %p', async (headers, body, restored) => {
    const request = await read(headers, body);
    restoreBody(request);
    expect(await text(request)).toBe(restored);
    const { 'content-type': type } = headers;
    const length = `${Buffer.byteLength(restored)}`;
    expect(request.headers).toEqual({ ...(type && { 'content-type': type }), 'content-length': length });
  });

  it.each<[Record<string, string>, unknown]>([
    [{ ...chunked, 'content-type': 'multipart/form-data' }, { a: '1' }],
    [{ ...chunked, ...json }, undefined],
  ])('cannot be restored with %j from %p', async (headers, body) => {
    const request = await read(headers, body);
    expect(() => restoreBody(request)).toThrow(expect.objectContaining({ type: 'server_error' }));
  });

  it('is left alone where there was none, or nothing has read it', async () => {
    const [empty, unread] = [await read({ 'content-length': '0' }), new IncomingMessage(new Socket())];
    unread.headers = chunked;
    for (const request of [empty, unread]) restoreBody(request);
    expect([hasBody(empty), hasBody(unread), empty.headers, unread.headers]).toEqual([
      false,
      true,
      { 'content-length': '0' },
      chunked,
    ]);
  });
});
