import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HandlerBody } from '../../../../src/chain/handler-body.ts';

const idle_ms = 1000;
const most_bytes = 256 * 1024;
let silent: jest.Mock<() => void>;
let body: HandlerBody;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  silent = jest.fn<() => void>();
  body = new HandlerBody(idle_ms, silent);
  body.expect();
});
afterEach(() => {
  jest.useRealTimers();
});

const turn = () => new Promise(setImmediate);

describe('the bytes that a handler writes', () => {
  it('arrive in order in any form that a response takes, joined when they are of one turn', async () => {
    const reader = body[Symbol.asyncIterator]();
    body.push('a');
    body.push('YmM=', 'base64');
    body.push(new Uint8Array([100]));
    expect(String((await reader.next()).value)).toBe('abcd');
    const next = reader.next();
    body.push('Да');
    expect(String((await next).value)).toBe('Да');
    body.finish();
    body.push('late');
    expect(await reader.next()).toEqual({ value: undefined, done: true });
  });

  it('are copied, because a handler may reuse its buffer', async () => {
    const given = Buffer.from('a');
    body.push(given);
    given.write('b');
    expect(String((await body[Symbol.asyncIterator]().next()).value)).toBe('a');
  });

  it('are followed by the first error that ends them', async () => {
    body.push('a');
    body.finish(new Error('broken'));
    body.finish(new Error('later'));
    const reader = body[Symbol.asyncIterator]();
    expect(String((await reader.next()).value)).toBe('a');
    await expect(reader.next()).rejects.toThrow('broken');
    expect(body.ended).toBe(true);
  });

  it('invoke their callback as a response does, in any argument position', async () => {
    const called = jest.fn();
    body.push('a', called);
    body.push('b', 'utf8', called);
    body.push('c', undefined, undefined);
    expect(called).not.toHaveBeenCalled();
    await turn();
    expect(called.mock.calls).toEqual([[null], [null]]);
  });

  it('make the handler wait above a limit until the reader has caught up', async () => {
    const drained = jest.fn();
    body.events.on('drain', drained);
    expect([body.push(Buffer.alloc(most_bytes)), body.full]).toEqual([true, false]);
    expect([body.push('x'), body.full, body.push('x')]).toEqual([false, true, false]);
    await body[Symbol.asyncIterator]().next();
    expect([body.full, drained.mock.calls.length]).toEqual([false, 0]);
    await turn();
    expect(drained).toHaveBeenCalledTimes(1);
    expect(body.push(Buffer.alloc(most_bytes))).toBe(true);
    await body[Symbol.asyncIterator]().next();
    await turn();
    expect(drained).toHaveBeenCalledTimes(1);
  });
});

describe('the timeout of a silent handler', () => {
  it('fires when the handler writes nothing at all', () => {
    jest.advanceTimersByTime(idle_ms - 1);
    expect(silent).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(silent).toHaveBeenCalledTimes(1);
  });

  it('fires when the reader waits, counted from the last bytes or the start of the wait', async () => {
    const reader = body[Symbol.asyncIterator]();
    body.push('a');
    await reader.next();
    jest.advanceTimersByTime(900);
    void reader.next();
    await turn();
    jest.advanceTimersByTime(900);
    expect(silent).not.toHaveBeenCalled();
    body.push('b');
    void reader.next();
    jest.advanceTimersByTime(999);
    await turn();
    expect(silent).not.toHaveBeenCalled();
  });

  it('does not fire while the reader is busy', () => {
    body.push('a');
    jest.advanceTimersByTime(10 * idle_ms);
    expect(silent).not.toHaveBeenCalled();
  });

  it('does not fire after the end, and leaves no timer behind', () => {
    body.finish();
    jest.advanceTimersByTime(idle_ms);
    expect([silent.mock.calls.length, jest.getTimerCount()]).toEqual([0, 0]);
  });
});
