import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import { readsExchanges, UnreadPaths } from '../../../../../src/mount/chain/unread-paths.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const reader: Stage = { name: 'redact', onRequest() {} };
const { log, lines } = capturedLog();

function exchangeOf(method: string, path: string, headers: object = {}, more: object = {}) {
  const incoming = Object.assign(new IncomingMessage(new Socket()), {
    method,
    headers,
    httpVersionMajor: 1,
    ...more,
  });
  return sampleExchange({ start: { method, path, incoming, log } });
}

describe('a path that stages must read and cannot', () => {
  it.each<[string, boolean, Parameters<typeof exchangeOf>]>([
    ['a call', true, ['POST', '/v1/completions']],
    ['a plain read', false, ['GET', '/v1/files']],
    ['a plain removal', false, ['DELETE', '/v1/files/f1']],
    ['a read with a body', true, ['GET', '/v1/files', { 'content-length': '5' }]],
    [
      'a read over HTTP/2 that goes on',
      true,
      ['GET', '/v1/files', {}, { httpVersionMajor: 2, stream: { endAfterHeaders: false } }],
    ],
    [
      'a read over HTTP/2 that is over',
      false,
      ['GET', '/v1/files', {}, { httpVersionMajor: 2, stream: { endAfterHeaders: true } }],
    ],
    ['a WebSocket', true, ['GET', '/v1/files', { upgrade: 'WebSocket' }]],
    ['what was generated', true, ['GET', '/v1/responses/r1']],
    ['what was generated, by other letters', true, ['GET', '/v1/%72esponses/r1']],
    ['a list of what was generated', false, ['GET', '/v1/responses']],
  ])('is refused or not: %s', (_, isRefused, given) => {
    const fault = new UnreadPaths([reader]).faultOf(exchangeOf(...given), given[1]);
    expect(fault?.code).toBe(isRefused ? 'unknown_url' : undefined);
    expect(new UnreadPaths([]).faultOf(exchangeOf(...given), given[1])).toBeUndefined();
  });

  it('is none where no stage says that it must read this one', () => {
    const asked = new UnreadPaths([{ ...reader, mustRead: ({ path }) => path === '/v1/a' }]);
    const faultOf = (path: string) => asked.faultOf(exchangeOf('POST', path), path)?.code;
    expect([faultOf('/v1/a'), faultOf('/v1/b')]).toEqual(['unknown_url', undefined]);
  });

  it('is logged once, twenty paths at most, and shown to the client as far as 256 characters', () => {
    const paths = new UnreadPaths([reader]);
    lines.length = 0;
    for (let at = 0; at < 25; at++)
      for (const path of [`/v1/x${at}`, '/v1/x0']) paths.faultOf(exchangeOf('POST', path), path);
    expect(lines).toHaveLength(20);
    const long = `/v1/${'x'.repeat(500)}`;
    expect(paths.faultOf(exchangeOf('POST', long), long)!.message).toHaveLength(
      'Unknown request URL: POST .'.length + 256,
    );
  });

  it.each<[Partial<Stage>, boolean]>([
    [{ onRequest() {} }, true],
    [{ onStream: () => undefined }, true],
    [{ onHeaders() {} }, false],
    [{ onRequest() {}, mustRead: false }, false],
    [{ mustRead: () => false }, true],
  ])('may be one for a stage with %o: %p', (hooks, expected) => {
    expect(readsExchanges({ name: 'x', ...hooks })).toBe(expected);
  });
});
