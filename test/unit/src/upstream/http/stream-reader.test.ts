import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Chunk } from '../../../../../src/canonical.ts';
import { EventReader } from '../../../../../src/upstream/http/decode-reply.ts';
import { StreamReader } from '../../../../../src/upstream/http/stream-reader.ts';
import { UpstreamCall } from '../../../../../src/upstream/http/upstream-call.ts';
import { OpenAiStreamDecoder } from '../../../../../src/upstream/openai/openai-stream-decoder.ts';

const limits = { max_event_bytes: 2 ** 20, max_reply_bytes: 2 ** 24 };
const event = (choice: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
const word = event({ delta: { content: 'word ' }, finish_reason: null });
const last = event({ delta: {}, finish_reason: 'stop' });
const done = Buffer.from('data: [DONE]\n\n');
const words = (count: number) => Buffer.concat(Array<Buffer>(count).fill(word));

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** An intake whose owner and call note what they hear. */
function intakeOf(choices = 1) {
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
    finish: () => end('finished'),
    fault: (thrown: unknown) => end(`failed: ${(thrown as Error).message}`),
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
  const intake: StreamReader = new StreamReader(
    new EventReader(new OpenAiStreamDecoder(), limits),
    new NotingCall(),
    owner,
    { choices },
  );
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
    expect(heard).toEqual(['finished']);
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
  /** Its parts as they come out of the decompressor; `closed` is set when nothing more is read of it. */
  function source(parts: readonly Buffer[], fault?: Error) {
    const state = { given: 0, closed: false };
    async function* bytes() {
      try {
        for (const part of parts) {
          state.given++;
          yield part;
        }
        if (fault) throw fault;
      } finally {
        state.closed = true;
      }
    }
    return { state, bytes: bytes() };
  }
  const settled = async () => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  };

  it('is read to its end', async () => {
    const { intake, heard } = intakeOf();
    await intake.readFrom(source([word, last]).bytes);
    expect(heard).toEqual(['finished']);
  });

  it('fails with the error of its decompression', async () => {
    const { intake, heard } = intakeOf();
    await intake.readFrom(source([word], new Error('bad data')).bytes);
    expect(heard).toEqual(['failed: bad data']);
  });

  it('waits until its chunks have been read', async () => {
    const { intake, client, heard } = intakeOf();
    client.keepsUp = false;
    const { bytes, state } = source([words(64), last]);
    const taken = intake.readFrom(bytes);
    await settled();
    expect(state.given).toBe(1);
    client.keepsUp = true;
    intake.drained();
    await taken;
    expect(heard).toContain('finished');
  });

  it('is closed when its attempt ends while it waits', async () => {
    const { intake, client, end } = intakeOf();
    client.keepsUp = false;
    const { bytes, state } = source([words(64), word, word]);
    void intake.readFrom(bytes);
    await settled();
    end('given up');
    intake.close();
    await settled();
    expect(state).toMatchObject({ closed: true });
  });
});
