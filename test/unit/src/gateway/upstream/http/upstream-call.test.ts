import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { beginningOf, textOf } from '../../../../../../src/gateway/upstream/http/reply-body.ts';
import {
  type BodyConsumer,
  type ResponseHead,
  UpstreamCall,
} from '../../../../../../src/gateway/upstream/http/upstream-call.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** What undici gives a call to steer its connection with. */
class Connection {
  paused = false;
  aborted: Error | undefined;

  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  abort(reason: Error): void {
    this.aborted = reason;
  }
}

/** A call, its connection, and what the consumer of its body has heard. */
function callOf({ isConnected = true } = {}) {
  const { promise: replied, resolve: responded, reject: failed } = Promise.withResolvers<ResponseHead>();
  replied.catch(() => {});
  const call = new UpstreamCall({ responded, failed });
  const connection = new Connection();
  const dispatcher = connection as unknown as Dispatcher.DispatchController;
  if (isConnected) call.onRequestStart(dispatcher);
  const told: unknown[] = [];
  const give = (...parts: (Buffer | string)[]) => {
    for (const part of parts) call.onResponseData(dispatcher, Buffer.from(part));
  };
  /** Reads the body, and takes more while it `wants`. */
  const read = (wants = true) => {
    const body: BodyConsumer = {
      bytes: part => told.push(String(part)) > 0 && wants,
      end: () => void told.push('end'),
      fail: ({ message }) => void told.push(message),
    };
    call.readInto(body);
    return told;
  };
  const head = (status: number, headers = {}) => call.onResponseStart(dispatcher, status, headers);
  const reset = () => call.onResponseError(dispatcher, new Error('reset'));
  return { call, connection, dispatcher, give, read, head, replied, reset };
}

const half = Buffer.alloc(128 * 1024);
const unwanted = new Error('not wanted');

describe('the head of a reply', () => {
  it('is the first that is not interim', async () => {
    const { head, replied } = callOf();
    head(103);
    head(200, { etag: '1' });
    expect(await replied).toEqual({ status: 200, headers: { etag: '1' } });
  });

  it('fails when the upstream switches protocols unasked, which ends the connection', async () => {
    const { connection, head, replied } = callOf();
    head(101);
    await expect(replied).rejects.toMatchObject({ code: 'provider_invalid' });
    expect(connection.aborted).toBeDefined();
  });

  it('fails with the error of the connection', async () => {
    const { replied, reset } = callOf();
    reset();
    await expect(replied).rejects.toThrow('reset');
  });
});

describe('a cancelled call', () => {
  it('ends its connection and tells the reason to its owner, or behind the head to the reader of its body', async () => {
    const [early, late] = [callOf(), callOf()];
    late.head(200);
    const told = late.read();
    for (const { call } of [early, late]) {
      call.cancel(unwanted);
      call.cancel(new Error('later'));
    }
    expect([early.connection.aborted, late.connection.aborted]).toEqual([unwanted, unwanted]);
    expect(told).toEqual(['not wanted']);
    await expect(early.replied).rejects.toThrow('not wanted');
  });

  it('ends a connection that is opened later, and none once its reply was complete', () => {
    const [late, complete] = [callOf({ isConnected: false }), callOf()];
    late.call.cancel(unwanted);
    late.call.onRequestStart(late.dispatcher);
    complete.call.onResponseEnd();
    complete.call.cancel(unwanted);
    expect([late.connection.aborted, complete.connection.aborted]).toEqual([unwanted, undefined]);
  });
});

describe('the body of a reply', () => {
  it('pauses its connection above a limit, and resumes it when it has been read', () => {
    const { call, connection, give, read } = callOf();
    give(half, half);
    expect(connection.paused).toBe(false);
    give('x');
    expect(connection.paused).toBe(true);
    const told = read();
    expect(told.join('')).toHaveLength(2 * half.length + 1);
    expect(connection.paused).toBe(false);
    call.onResponseEnd();
    expect(told.at(-1)).toBe('end');
  });

  it('ends its connection when its reader leaves', async () => {
    const { call, connection, give } = callOf();
    give(half);
    expect(await beginningOf(call, 5)).toHaveLength(5);
    expect(connection.aborted).toBeDefined();
  });

  it('is delivered before the end or the error that came before its reader', () => {
    const [whole, ended, broken] = [callOf(), callOf(), callOf()];
    whole.give('a');
    for (const one of [whole, broken]) one.reset();
    ended.call.onResponseEnd();
    expect([whole, ended, broken].map(({ read }) => read())).toEqual([['a', 'reset'], ['end'], ['reset']]);
  });

  it('pauses its connection while its reader takes no more, until that resumes', () => {
    const { call, connection, give, read } = callOf();
    read(false);
    give('a');
    expect(connection.paused).toBe(true);
    call.resume();
    expect(connection.paused).toBe(false);
  });

  it.each([true, false])('continues after what had come only if more is wanted: %s', wants => {
    const { connection, give, read } = callOf();
    give(half);
    connection.paused = true;
    read(wants);
    expect(connection.paused).toBe(!wants);
  });

  it('that is not needed any longer is discarded so that the connection can be reused', () => {
    const { call, connection, give, read } = callOf();
    const told = read();
    connection.paused = true;
    call.release(1000);
    give('a');
    call.onResponseEnd();
    expect([told, connection.paused, jest.getTimerCount()]).toEqual([['end'], false, 0]);
    jest.advanceTimersByTime(1000);
    expect(connection.aborted).toBeUndefined();
  });

  it('that is not needed any longer ends the connection when it does not end in time', () => {
    const { call, connection } = callOf();
    call.release(1000);
    call.release(5000);
    jest.advanceTimersByTime(999);
    expect(connection.aborted).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect(connection.aborted?.message).toBe('the upstream did not end its reply');
  });
});

describe('a whole body', () => {
  it('is one text, up to and including the limit', async () => {
    const { call, give } = callOf();
    const whole = textOf(call, 4);
    give('ab', 'cd');
    call.onResponseEnd();
    expect(await whole).toBe('abcd');
  });

  it('is rejected above the limit, which ends its connection', async () => {
    const { call, connection, give } = callOf();
    const whole = textOf(call, 3);
    give('ab', 'cd');
    const tooLarge = { code: 'provider_invalid', cause: new Error('a reply over 3 bytes') };
    await expect(whole).rejects.toMatchObject(tooLarge);
    expect(connection.aborted).toMatchObject(tooLarge);
  });
});
