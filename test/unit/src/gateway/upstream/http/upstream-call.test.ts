import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { beginningOf, textOf } from '../../../../../../src/gateway/upstream/http/reply-body.ts';
import {
  type BodyConsumer,
  UpstreamCall,
} from '../../../../../../src/gateway/upstream/http/upstream-call.ts';

/** What undici gives a call to steer its connection with. */
class Controller {
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

let call: UpstreamCall;
let controller: Controller;
let dispatcher: Dispatcher.DispatchController;

beforeEach(() => {
  jest.useFakeTimers();
  call = new UpstreamCall();
  controller = new Controller();
  dispatcher = controller as unknown as Dispatcher.DispatchController;
});
afterEach(() => {
  jest.useRealTimers();
});

const half = Buffer.alloc(128 * 1024);
const given = (bytes: Buffer) => call.onResponseData(dispatcher, bytes);

/** A consumer that keeps what it is told, and takes more while it `wants`. */
function consumer(wants = true) {
  const told: unknown[] = [];
  const body: BodyConsumer = {
    bytes: part => {
      told.push(String(part));
      return wants;
    },
    end: () => void told.push('end'),
    fail: ({ message }) => void told.push(message),
  };
  return { told, body };
}

describe('the head of a reply', () => {
  it('is the first that is not interim', async () => {
    call.onRequestStart(dispatcher);
    call.onResponseStart(dispatcher, 103, {});
    call.onResponseStart(dispatcher, 200, { etag: '1' });
    expect(await call.head).toEqual({ status: 200, headers: { etag: '1' } });
  });

  it('fails when the upstream switches protocols unasked, which ends the connection', async () => {
    call.onRequestStart(dispatcher);
    call.onResponseStart(dispatcher, 101, {});
    await expect(call.head).rejects.toMatchObject({ code: 'provider_invalid' });
    expect(controller.aborted).toBeDefined();
  });

  it('fails with the error of the connection', async () => {
    call.onResponseError(dispatcher, new Error('reset'));
    await expect(call.head).rejects.toThrow('reset');
  });
});

describe('a cancelled call', () => {
  it('ends its connection and rejects every wait with the reason', async () => {
    call.onRequestStart(dispatcher);
    const { told, body } = consumer();
    call.readInto(body);
    call.cancel(new Error('not wanted'));
    call.cancel(new Error('later'));
    expect([controller.aborted?.message, told]).toEqual(['not wanted', ['not wanted']]);
    await expect(call.head).rejects.toThrow('not wanted');
  });

  it('ends a connection that is opened later', () => {
    call.cancel(new Error('not wanted'));
    call.onRequestStart(dispatcher);
    expect(controller.aborted?.message).toBe('not wanted');
  });

  it('ends nothing once its reply was complete', () => {
    call.onRequestStart(dispatcher);
    call.onResponseEnd();
    call.cancel(new Error('not wanted'));
    expect(controller.aborted).toBeUndefined();
  });
});

describe('a body that waits for its reader', () => {
  it('pauses its connection above a limit, and resumes it when it has been read', () => {
    call.onRequestStart(dispatcher);
    given(half);
    given(half);
    expect(controller.paused).toBe(false);
    given(Buffer.from('x'));
    expect(controller.paused).toBe(true);
    const { told, body } = consumer();
    call.readInto(body);
    expect(told.join('')).toHaveLength(2 * half.length + 1);
    expect(controller.paused).toBe(false);
    call.onResponseEnd();
    expect(told.at(-1)).toBe('end');
  });

  it('ends its connection when its reader leaves', async () => {
    call.onRequestStart(dispatcher);
    given(half);
    expect(await beginningOf(call, 5)).toHaveLength(5);
    expect(controller.aborted).toBeDefined();
  });

  it('is delivered before the error that followed it', () => {
    given(Buffer.from('a'));
    call.onResponseError(dispatcher, new Error('reset'));
    const { told, body } = consumer();
    call.readInto(body);
    expect(told).toEqual(['a', 'reset']);
  });
});

describe('a body with a consumer', () => {
  it('pauses its connection while the consumer takes no more, until that resumes', () => {
    call.onRequestStart(dispatcher);
    call.readInto(consumer(false).body);
    given(Buffer.from('a'));
    expect(controller.paused).toBe(true);
    call.resume();
    expect(controller.paused).toBe(false);
  });

  it('continues after what had come only if more is wanted', () => {
    for (const wants of [true, false]) {
      call = new UpstreamCall();
      call.onRequestStart(dispatcher);
      given(half);
      controller.paused = true;
      call.readInto(consumer(wants).body);
      expect(controller.paused).toBe(!wants);
    }
  });

  it('delivers an end or an error that came before its consumer', () => {
    call.onResponseEnd();
    const ended = consumer();
    call.readInto(ended.body);
    expect(ended.told).toEqual(['end']);
    call = new UpstreamCall();
    call.onResponseError(dispatcher, new Error('reset'));
    const broken = consumer();
    call.readInto(broken.body);
    expect(broken.told).toEqual(['reset']);
  });
});

describe('a body that is not needed any longer', () => {
  it('is discarded so that the connection can be reused', () => {
    call.onRequestStart(dispatcher);
    const { told, body } = consumer();
    call.readInto(body);
    controller.paused = true;
    call.release(1000);
    given(Buffer.from('a'));
    call.onResponseEnd();
    expect([told, controller.paused, jest.getTimerCount()]).toEqual([['end'], false, 0]);
    jest.advanceTimersByTime(1000);
    expect(controller.aborted).toBeUndefined();
  });

  it('ends the connection when it does not end in time', () => {
    call.onRequestStart(dispatcher);
    call.release(1000);
    call.release(5000);
    jest.advanceTimersByTime(999);
    expect(controller.aborted).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect(controller.aborted?.message).toBe('the upstream did not end its reply');
  });
});

describe('a whole body', () => {
  it('is one text, up to and including the limit', async () => {
    const whole = textOf(call, 4);
    given(Buffer.from('ab'));
    given(Buffer.from('cd'));
    call.onResponseEnd();
    expect(await whole).toBe('abcd');
  });

  it('is rejected above the limit, which ends its connection', async () => {
    call.onRequestStart(dispatcher);
    const whole = textOf(call, 3);
    given(Buffer.from('ab'));
    given(Buffer.from('cd'));
    const tooLarge = { code: 'provider_invalid', cause: new Error('a reply over 3 bytes') };
    await expect(whole).rejects.toMatchObject(tooLarge);
    expect(controller.aborted).toMatchObject(tooLarge);
  });
});
