import { describe, expect, it } from '@jest/globals';
import { defineKey } from '../../../../../src/gateway/exchange/exchange-view.ts';
import { sampleExchange, sampleRequest } from '../../../sample-exchange.ts';

describe('the abort signal of an exchange', () => {
  it('aborts when the client leaves, with that as the reason', () => {
    const exchange = sampleExchange();
    const { signal } = exchange;
    exchange.clientLeft();
    expect(signal.aborted).toBe(true);
    expect(exchange).toMatchObject({ client_gone: true, end_reason: 'client_gone' });
  });

  it('is aborted from the start when it is read after the abort', () => {
    const exchange = sampleExchange();
    exchange.abort('shutdown');
    expect(exchange.signal.aborted).toBe(true);
  });

  it('does not abort when a reply is to be read on', () => {
    const exchange = sampleExchange();
    let told = 0;
    exchange.insteadOfAbort = () => told++;
    exchange.clientLeft();
    expect([exchange.signal.aborted, exchange.client_gone, told]).toEqual([false, true, 1]);
  });
});

describe('the parsed request', () => {
  it('throws a programming error when it is read too early', () => {
    const exchange = sampleExchange();
    expect(exchange.hasRequest).toBe(false);
    expect(() => exchange.request.model).toThrow('onRequest');
    expect(() => ({ ...exchange.request })).toThrow('onRequest');
    expect(() => delete exchange.request.metadata).toThrow('onRequest');
    const request = sampleRequest();
    exchange.request = request;
    expect(exchange.hasRequest).toBe(true);
    expect(exchange.request).toBe(request);
  });
});

describe('the shared values of plugins', () => {
  it('are found by the key itself, not by its description', () => {
    const exchange = sampleExchange();
    const [seats, other] = [defineKey<number>('seats'), defineKey<number>('seats')];
    expect(exchange.get(seats)).toBeUndefined();
    exchange.set(seats, 4);
    expect(exchange.get(seats)).toBe(4);
    expect(exchange.get(other)).toBeUndefined();
  });
});
