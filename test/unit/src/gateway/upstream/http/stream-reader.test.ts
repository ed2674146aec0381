import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Dispatcher } from 'undici';
import type { Chunk } from '../../../../../../src/gateway/exchange/canonical.ts';
import { decompressed } from '../../../../../../src/gateway/upstream/http/reply-body.ts';
import { StreamReader } from '../../../../../../src/gateway/upstream/http/stream-reader.ts';
import { type Body, UpstreamCall } from '../../../../../../src/gateway/upstream/http/upstream-call.ts';
import { OpenAiStreamDecoder } from '../../../../../../src/gateway/upstream/openai/openai-stream-decoder.ts';

const limits = { max_event_bytes: 2 ** 20, max_reply_bytes: 2 ** 24 };
const event = (choice: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
const word = event({ delta: { content: 'word ' }, finish_reason: null });
const last = event({ delta: {}, finish_reason: 'stop' });
const done = Buffer.from('data: [DONE]\n\n');
const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await new Promise(setImmediate);
};
const words = (count: number) => Buffer.concat(Array<Buffer>(count).fill(word));

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const messageOf = (thrown: unknown) => (thrown as Error).message;

/** The owner of a call whose head is not looked at. */
const nobody = { responded() {}, failed() {} };

/** An intake whose owner and call note what they hear. */
function intakeOf(choices = 1, body?: Body) {
  const heard: string[] = [];
  const given: Chunk[] = [];
  /** What `give` answers. */
  const client = { keepsUp: true };
  const owner = {
    isOver: false,
    give(chunks: readonly Chunk[]) {
      given.push(...chunks);
      return client.keepsUp;
    },
    finish: (late?: unknown) => end(late === undefined ? 'finished' : `finished before: ${messageOf(late)}`),
    fault: (thrown: unknown) => end(`failed: ${messageOf(thrown)}`),
  };
  const end = (what: string) => {
    heard.push(what);
    owner.isOver = true;
  };
  class NotingCall extends UpstreamCall {
    override release(patience_ms: number): void {
      heard.push(`released for ${patience_ms} ms`);
    }
    override cancel({ message }: Error): void {
      heard.push(`cancelled: ${message}`);
    }
    override resume(): void {
      heard.push('resumed');
    }
  }
  const intake = new StreamReader(new OpenAiStreamDecoder(), owner, limits, choices);
  intake.read(body ?? new NotingCall(nobody));
  // A call resumes when it has a consumer.
  heard.length = 0;
  return { intake, given, client, heard, end };
}

describe('the bytes of a stream', () => {
  it('end with their marker, and leave the connection a second to be reused', () => {
    const { intake, given, heard } = intakeOf();
    intake.bytes(Buffer.concat([word, last, done]));
    expect(heard).toEqual(['finished', 'released for 1000 ms']);
    expect(given.length).toBe(2);
  });

  it('end when the connection does, after what was still on its way', () => {
    const { intake, given, heard } = intakeOf();
    intake.bytes(Buffer.concat([word, last.subarray(0, -1)]));
    intake.end();
    expect(heard).toEqual(['finished']);
    expect(given.length).toBe(2);
  });

  it('fail when the connection ends before the answer does', () => {
    const { intake, heard } = intakeOf();
    intake.bytes(word);
    intake.end();
    expect(heard).toEqual([expect.stringMatching(/^failed: /)]);
  });

  it('are awaited for at most five seconds after the last finish reason', () => {
    const { intake, heard } = intakeOf();
    intake.bytes(Buffer.concat([word, last]));
    jest.advanceTimersByTime(4000);
    intake.bytes(Buffer.from(': still here\n\n'));
    jest.advanceTimersByTime(999);
    expect(heard).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(heard).toEqual(['finished', 'cancelled: the upstream did not end its stream']);
  });

  it('are awaited after a finish reason while other choices may follow', () => {
    const { intake } = intakeOf(2);
    intake.bytes(Buffer.concat([word, last]));
    expect(jest.getTimerCount()).toBe(0);
  });

  it('leave no timer behind when their attempt is over', () => {
    const { intake } = intakeOf();
    intake.bytes(Buffer.concat([word, last]));
    intake.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('fail with the error of the connection, and only once with their own', () => {
    const broken = intakeOf();
    broken.intake.fail(new Error('reset'));
    expect(broken.heard).toEqual(['failed: reset']);
    const wrong = intakeOf();
    wrong.intake.bytes(Buffer.from('data: {\n\n'));
    const [fault] = wrong.heard;
    wrong.intake.fail(new Error('the call was ended for that'));
    expect(wrong.heard).toEqual([fault]);
  });

  it('do not fail when the answer had ended before the connection broke', () => {
    const { intake, heard } = intakeOf();
    intake.bytes(Buffer.concat([word, last]));
    intake.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    expect(heard).toEqual(['finished before: reset']);
  });

  it.each([
    ['an error', 'data: {"error":{"message":"CUDA"}}\n\n', 'CUDA'],
    ['what is not JSON', 'data: {\n\n', 'The upstream provider returned an invalid response.'],
    ['a failed finish', `${event({ finish_reason: 'error' })}`, /closed the stream unexpectedly/],
    ['too much', `: ${' '.repeat(limits.max_reply_bytes)}`, /invalid response/],
  ])('end the answer and the call when %s follows the last finish reason', (_, text, message) => {
    const { intake, heard } = intakeOf();
    intake.bytes(Buffer.concat([word, last]));
    intake.bytes(Buffer.from(text));
    expect(heard).toEqual([
      expect.stringMatching(/^finished before: /),
      'cancelled: the upstream failed after its answer',
    ]);
    expect(heard[0]).toMatch(message);
  });

  it('fail with an error while one of two choices has not begun', () => {
    const { intake, heard } = intakeOf(2);
    intake.bytes(Buffer.concat([word, last]));
    intake.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    expect(heard).toEqual(['failed: reset']);
    const both = intakeOf(2);
    both.intake.bytes(Buffer.concat([word, last, event({ index: 1, delta: {}, finish_reason: 'stop' })]));
    both.intake.fail(new Error('reset'));
    expect(both.heard).toEqual(['finished before: reset']);
  });
});

describe('a stream with a slow client', () => {
  it('is paused when its client does not keep up, and resumes when it does', () => {
    const { intake, client, heard } = intakeOf();
    expect(intake.bytes(words(63))).toBe(true);
    client.keepsUp = false;
    expect(intake.bytes(word)).toBe(false);
    client.keepsUp = true;
    intake.drained();
    expect(heard).toEqual(['resumed']);
    expect(intake.bytes(word)).toBe(true);
  });
});

describe('a compressed stream', () => {
  /** A call whose bytes are pushed through a decompressor into the reader. */
  function compressed(choices = 1) {
    const paused = { count: 0 };
    const call = new UpstreamCall(nobody);
    const controller = { paused: false, pause: () => paused.count++, resume() {}, abort() {} };
    const dispatcher = controller as unknown as Dispatcher.DispatchController;
    const body = decompressed(call, { headers: { 'content-encoding': 'gzip' } });
    const noting = intakeOf(choices, body);
    call.onRequestStart(dispatcher);
    call.onResponseStart(dispatcher, 200, {});
    const send = (bytes: Buffer) => call.onResponseData(dispatcher, bytes);
    return { ...noting, call, paused, send };
  }

  beforeEach(() => {
    jest.useRealTimers();
  });

  it('fails with the error of its decompression', async () => {
    const { heard, send } = compressed();
    send(word);
    await until(() => heard.length > 0);
    expect(heard).toEqual(['failed: incorrect header check']);
  });

  it('waits until its chunks have been read', async () => {
    const { intake, given, client, heard, call, paused, send } = compressed();
    client.keepsUp = false;
    const noise = Array.from({ length: 4000 }, () => event({ delta: { content: randomUUID() } }));
    send(gzipSync(Buffer.concat([...noise, last])));
    call.onResponseEnd();
    await until(() => given.length > 0);
    const before = given.length;
    await new Promise(setImmediate);
    expect([given.length, paused.count > 0, before < 4001]).toEqual([before, true, true]);
    client.keepsUp = true;
    intake.drained();
    await until(() => heard.length > 0);
    expect([heard, given.length]).toEqual([['finished'], 4001]);
  });

  it('lets the event loop rest while it waits', async () => {
    const { client, given, send, intake } = compressed();
    client.keepsUp = false;
    send(gzipSync(words(8000)));
    await until(() => given.length > 0);
    // A loop that turns is never idle. One that rests is in some window, also where the machine stops this process in others.
    let least = 1;
    for (let windows = 0; windows < 20 && least >= 0.5; windows++) {
      const before = performance.eventLoopUtilization();
      // biome-ignore lint/plugin: the loop must be idle in this time.
      await new Promise(resolve => setTimeout(resolve, 100));
      least = Math.min(least, performance.eventLoopUtilization(before).utilization);
    }
    expect(least).toBeLessThan(0.5);
    intake.close();
  });

  it('ends with its call when its attempt ends while it waits', async () => {
    const { client, given, end, call, send, intake, heard } = compressed();
    client.keepsUp = false;
    send(gzipSync(words(8000)));
    await until(() => given.length > 0);
    end('given up');
    intake.close();
    call.cancel(new Error('not wanted'));
    await until(() => heard.length > 1);
    expect(heard).toEqual(['given up', 'failed: not wanted']);
  });
});
