import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HandlerBody } from '../../../../../src/mount/chain/handler-body.ts';

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

/** Reads the body: what has come, and whether more is taken at once. */
function reading(takes = true) {
  const parts: string[] = [];
  const events: unknown[] = [];
  body.readInto({
    bytes(part) {
      parts.push(String(part));
      return takes;
    },
    end: () => void events.push('end'),
    fail: error => void events.push(error.message),
  });
  return { parts, events };
}

describe('the bytes that a handler writes', () => {
  it('arrive in order in any form that a response takes, joined when they are of one turn', async () => {
    const { parts, events } = reading();
    body.push('a');
    body.push('YmM=', 'base64');
    body.push(new Uint8Array([100]));
    await turn();
    expect(parts).toEqual(['abcd']);
    body.push('Да');
    await turn();
    expect([parts[1], events]).toEqual(['Да', []]);
    body.finish();
    body.push('late');
    await turn();
    expect([parts.length, events]).toEqual([2, ['end']]);
  });

  it('are copied, because a handler may reuse its buffer', async () => {
    const given = Buffer.from('a');
    body.push(given);
    given.write('b');
    const { parts } = reading();
    await turn();
    expect(parts).toEqual(['a']);
  });

  it('are followed by the first error that ends them', async () => {
    body.push('a');
    body.finish(new Error('broken'));
    body.finish(new Error('later'));
    const { parts, events } = reading();
    await turn();
    expect([parts, events, body.ended]).toEqual([['a'], ['broken'], true]);
  });

  it('are discarded after the reader has cancelled', async () => {
    const { parts, events } = reading();
    body.cancel(new Error('enough'));
    body.push(Buffer.alloc(2 * most_bytes));
    await turn();
    expect([parts, events, body.full]).toEqual([[], ['enough'], false]);
    body.finish();
    await body.over;
    expect(events).toEqual(['enough']);
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
    await turn();
    expect([body.full, drained.mock.calls.length]).toEqual([true, 0]);
    reading();
    await turn();
    expect([body.full, drained.mock.calls.length]).toEqual([false, 1]);
    expect(body.push(Buffer.alloc(most_bytes))).toBe(true);
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
    reading(false);
    body.push('a');
    await turn();
    jest.advanceTimersByTime(900);
    body.resume();
    await turn();
    jest.advanceTimersByTime(900);
    expect(silent).not.toHaveBeenCalled();
    body.push('b');
    await turn();
    body.resume();
    jest.advanceTimersByTime(999);
    expect(silent).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(silent).toHaveBeenCalledTimes(1);
  });

  it('does not fire while the reader is busy', async () => {
    reading(false);
    body.push('a');
    await turn();
    jest.advanceTimersByTime(10 * idle_ms);
    expect(silent).not.toHaveBeenCalled();
  });

  it('does not fire after the end, and leaves no timer behind', () => {
    body.finish();
    jest.advanceTimersByTime(idle_ms);
    expect([silent.mock.calls.length, jest.getTimerCount()]).toEqual([0, 0]);
  });
});
