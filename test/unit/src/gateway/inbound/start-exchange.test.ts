import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import {
  expectContinue,
  sendContinue,
  waitsToContinue,
} from '../../../../../src/gateway/inbound/expect-continue.ts';
import { requestIdOf, startExchange } from '../../../../../src/gateway/inbound/start-exchange.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

/** A request from 192.0.2.1 whose headers have arrived. */
function arrived(headers: Record<string, string> = {}, more: object = {}) {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.1' });
  const incoming = Object.assign(
    new IncomingMessage(socket),
    { headers, method: 'POST', url: '/v1/x' },
    more,
  );
  return { socket, incoming, response: new ServerResponse(incoming) };
}

function started({ incoming, response }: ReturnType<typeof arrived>, trust_proxy = false, header?: string) {
  const endpoint = { name: 'e', public: false, ...(header && { headers: { request_id: header } }) };
  const { log, lines } = capturedLog('debug');
  const start = { endpoint, path: '/v1/x', log, clock: new FakeClock(), route: '/v1/x', trust_proxy };
  return { exchange: startExchange(incoming, response, start as never), lines };
}

describe('an exchange', () => {
  const long = 'x'.repeat(100);
  const chain = { 'x-forwarded-for': '203.0.113.1, 198.51.100.7 ' };
  it.each<[string, Record<string, string>, object, boolean, string]>([
    ['its connection', {}, {}, false, '192.0.2.1'],
    ['its connection, whatever it says of others', chain, {}, false, '192.0.2.1'],
    ['its connection without a word of a trusted proxy', { 'x-forwarded-for': ' ' }, {}, true, '192.0.2.1'],
    ['what the nearest trusted proxy has added', chain, {}, true, '198.51.100.7'],
    ['what the nearest has added, cut', { 'x-forwarded-for': long }, {}, true, long.slice(0, 64)],
    ['what the framework says', chain, { ip: long }, true, long.slice(0, 64)],
  ])('has the address of %s', (_, headers, more, trust_proxy, address) => {
    expect(started(arrived(headers, more), trust_proxy).exchange.client_address).toBe(address);
  });

  it('answers with its id under the name of its endpoint', () => {
    const { exchange } = started(arrived({ 'x-request-id': 'mine' }), false, 'request-id');
    expect([exchange.id, exchange.replyHeaders['request-id']]).toEqual(['mine', 'mine']);
    expect(started(arrived()).exchange.replyHeaders).toEqual({});
  });

  it.each<[string, boolean, (request: ReturnType<typeof arrived>) => unknown, boolean]>([
    ['before the reply was written', false, () => {}, true],
    ['before the reply was handed over', false, ({ response }) => response.end(), true],
    ['after the whole reply', true, ({ response }) => response.end(), false],
  ])('%s has lost its client when the connection closes: %s', (_, isEnded, act, isGone) => {
    const request = arrived();
    const { exchange } = started(request);
    act(request);
    if (isEnded) exchange.end.replyEnded();
    request.response.emit('close');
    expect([exchange.client_gone, exchange.aborted]).toEqual([isGone, isGone]);
  });

  it('has lost a client that left while the application was busy with the request', () => {
    const request = arrived();
    request.socket.destroy();
    expect(started(request).exchange.client_gone).toBe(true);
  });

  it('survives a response that another handler has ended', () => {
    const request = arrived();
    const { lines } = started(request);
    request.response.emit('error', new Error('write after end'));
    expect(lines).toMatchObject([{ level: 20, msg: 'the response could not be written' }]);
  });
});

describe('a client that waits for 100 Continue', () => {
  const waiting = (keeps_alive: boolean) => {
    const { incoming, response } = arrived();
    let written = 0;
    Object.assign(response, { shouldKeepAlive: keeps_alive, writeContinue: () => written++ });
    expectContinue(incoming, response);
    return { incoming, response, written: () => written };
  };

  it('without it has its connection closed by the reply', () => {
    const { incoming, response } = waiting(true);
    expect([waitsToContinue(incoming), response.shouldKeepAlive]).toEqual([true, false]);
    incoming.push('early');
    expect(waitsToContinue(incoming)).toBe(false);
  });

  it.each([true, false])('gets it once, and keeps its connection as before: %s', keeps_alive => {
    const { incoming, response, written } = waiting(keeps_alive);
    for (let time = 0; time < 2; time++) sendContinue(incoming);
    expect([written(), response.shouldKeepAlive, waitsToContinue(incoming)]).toEqual([1, keeps_alive, false]);
  });
});

describe('the request id', () => {
  it.each(['a', 'req_123', '0af7651916cd43dd8448eb211c80319c', 'x'.repeat(128), 'a.b:c-d_e'])(
    'is taken from the caller: %s',
    id => {
      expect(requestIdOf({ 'x-request-id': id })).toBe(id);
    },
  );

  it.each([undefined, '', ' ', 'a b', 'a\r\nset-cookie: b', 'ä', '{"a":1}', 'x'.repeat(129), 'a, b'])(
    'is generated where the caller sends no valid one: %j',
    id => {
      const made = requestIdOf(id === undefined ? {} : { 'x-request-id': id });
      expect(made).toMatch(/^req_[\da-f]{32}$/);
      expect(requestIdOf({})).not.toBe(made);
    },
  );
});
