import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Exchange } from '../../../../../src/gateway/exchange/exchange.ts';
import { ClientWatch, untilRead } from '../../../../../src/gateway/outbound/slow-client.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { FakeSink } from './sink.ts';

const slow_client_ms = 1000;
let clock: FakeClock;
let exchange: Exchange;
let client: FakeSink;

beforeEach(() => {
  jest.useFakeTimers();
  clock = new FakeClock();
  exchange = sampleExchange({ start: { clock } });
  client = new FakeSink();
});
afterEach(() => {
  jest.useRealTimers();
});

function pass(ms: number): void {
  clock.advance(ms);
  jest.advanceTimersByTime(ms);
}

const listeners = () => ['drain', 'finish', 'close'].map(name => client.listenerCount(name));

describe('the slow client watch', () => {
  const watched = () =>
    new ClientWatch(exchange, client.sink, slow_client_ms, { onDrained() {}, onOver() {} });

  it('disconnects a client that has read nothing for the allowed time', () => {
    watched().wait();
    pass(slow_client_ms - 10);
    expect(client.destroyed).toBe(false);
    pass(10);
    expect([client.destroyed, exchange.end_reason]).toEqual([true, 'slow_client']);
  });

  it('keeps a client that has read everything while nothing more is sent', () => {
    watched().wait();
    pass(500);
    client.emit('drain');
    pass(10 * slow_client_ms);
    expect(client.destroyed).toBe(false);
  });

  it('counts from the last time that something was left unread', () => {
    const watch = watched();
    watch.wait();
    pass(900);
    client.emit('drain');
    watch.wait();
    pass(900);
    expect(client.destroyed).toBe(false);
    pass(200);
    expect(client.destroyed).toBe(true);
  });

  it('leaves no listener and no timer behind when it ends', () => {
    const watch = watched();
    watch.wait();
    watch.end();
    expect([listeners(), jest.getTimerCount()]).toEqual([[0, 0, 0], 0]);
    pass(2 * slow_client_ms);
    expect(client.destroyed).toBe(false);
  });
});

describe.each(['drain', 'finish'] as const)('the wait for %s', event => {
  it('ends when the client has read on, and leaves nothing behind', async () => {
    const waited = untilRead(exchange, client.sink, event, slow_client_ms);
    client.emit(event);
    await waited;
    expect([listeners(), jest.getTimerCount()]).toEqual([[0, 0, 0], 0]);
    pass(2 * slow_client_ms);
    expect([client.destroyed, exchange.end_reason]).toEqual([false, undefined]);
  });

  it('ends when the client has left', async () => {
    const waited = untilRead(exchange, client.sink, event, slow_client_ms);
    client.emit('close');
    await waited;
    expect([listeners(), jest.getTimerCount()]).toEqual([[0, 0, 0], 0]);
  });

  it('never disconnects a client that an outer chain waits for', async () => {
    const waited = untilRead(exchange, client.sink, event, Infinity);
    expect(jest.getTimerCount()).toBe(0);
    client.emit(event);
    await waited;
  });

  it('disconnects a client that reads nothing', async () => {
    const waited = untilRead(exchange, client.sink, event, slow_client_ms);
    pass(slow_client_ms);
    await waited;
    expect([client.destroyed, exchange.end_reason]).toEqual([true, 'slow_client']);
  });
});

it('listens for the abort of the exchange only while it waits for the client', async () => {
  const offAbort = jest.spyOn(exchange, 'offAbort');
  for (let rounds = 0; rounds < 3; rounds++) {
    const waited = untilRead(exchange, client.sink, 'drain', slow_client_ms);
    client.emit('drain');
    await waited;
    expect(offAbort).toHaveBeenCalledTimes(rounds + 1);
  }
  const aborted = untilRead(exchange, client.sink, 'drain', slow_client_ms);
  exchange.abort('shutdown');
  await aborted;
});
