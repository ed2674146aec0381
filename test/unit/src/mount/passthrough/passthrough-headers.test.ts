import { describe, expect, it } from '@jest/globals';
import {
  headersForClient,
  headersForUpstream,
} from '../../../../../src/mount/passthrough/passthrough-headers.ts';

describe('the headers sent upstream', () => {
  it('are those of the body, those allowed by name, and the configured ones over all', () => {
    const from = {
      'content-type': 'text/plain',
      'content-length': '3',
      cookie: 'secret',
      authorization: 'Bearer of-the-client',
      'x-mine': '1',
      'x-other': '2',
    };
    expect(headersForUpstream(from, ['x-mine', 'authorization'], { authorization: 'Bearer own' })).toEqual({
      'content-type': 'text/plain',
      'content-length': '3',
      'x-mine': '1',
      authorization: 'Bearer own',
    });
  });

  it.each([
    [{}, {}],
    [{ 'content-length': '3' }, { 'content-length': '3' }],
    [{ 'transfer-encoding': 'chunked' }, { 'transfer-encoding': 'chunked' }],
    [{ 'transfer-encoding': 'gzip, chunked' }, { 'transfer-encoding': 'chunked' }],
    [{ 'content-length': '3', 'transfer-encoding': 'chunked' }, { 'content-length': '3' }],
  ])('frame a body once: of %j, %j', (from, expected) => {
    expect(headersForUpstream(from, [], {})).toEqual(expected);
  });
});

describe('the headers sent to the client', () => {
  it('describe the body and hide the server', () => {
    const from = { etag: '"1"', 'content-type': 'image/png', server: 'nginx', 'set-cookie': ['a=b'] };
    expect(headersForClient(from)).toEqual({ etag: '"1"', 'content-type': 'image/png' });
  });

  it('keep proxies from buffering a stream of events', () => {
    const from = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'public' };
    expect(headersForClient(from)).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
  });
});
