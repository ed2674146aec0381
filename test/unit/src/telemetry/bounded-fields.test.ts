import { describe, expect, it } from '@jest/globals';
import { boundedFields, boundedMessage } from '../../../../src/telemetry/bounded-fields.ts';
import { BoundedLog } from '../../../../src/telemetry/logger.ts';
import { capturedLog } from '../../../support/captured-log.ts';

const huge = 'x'.repeat(1_000_000);
const errOf = (err: unknown) =>
  (boundedFields({ err }) as { err: unknown }).err as Error & Record<string, unknown>;

describe('the fields of a log line', () => {
  it('are unchanged when they are small', () => {
    const at = new Date(0);
    const fields = { a: 'text', b: 1, c: true, d: undefined, e: null, f: [{ g: ['h'] }], at };
    expect(boundedFields(fields)).toEqual(fields);
  });

  it('keep the beginning and the end of a long text, and say how much is left out', () => {
    const { text } = boundedFields({ text: `begin ${huge} end` }) as { text: string };
    expect(text).toMatch(/^begin x+…\[\d+ characters\]…x+ end$/);
    expect(String(text).length).toBeLessThan(2200);
  });

  it('have the error of a time limit with its name and message, and none of the constants of its class', () => {
    const err = errOf(new DOMException('The operation timed out', 'TimeoutError'));
    const named: string[] = [];
    for (const name in err) named.push(name);
    expect(named).toEqual(['name']);
    expect([err.name, err.message]).toEqual(['TimeoutError', 'The operation timed out']);
  });

  it.each([
    ['many long texts', Array.from({ length: 1000 }, () => huge)],
    ['many names', Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`name_${at}`, at]))],
    ['long names', { [huge]: 1, [`${huge}y`]: 2 }],
    ['many small texts', Array.from({ length: 100_000 }, () => 'word')],
    ['objects in objects', Array.from({ length: 60 }, () => Array.from({ length: 60 }, () => ({ huge })))],
    ['an error with a long message', new Error(huge)],
    [
      'a long chain of causes',
      Array.from({ length: 100 }).reduce<Error>(cause => new Error(huge, { cause }), new Error(huge)),
    ],
    [
      'many errors in one',
      new AggregateError(
        Array.from({ length: 100 }, () => new Error(huge)),
        huge,
      ),
    ],
    ['an error with a long stack', Object.assign(new Error('short'), { stack: huge })],
    ['an error with a long code', Object.assign(new Error('short'), { code: huge, name: huge })],
    ['bytes', Buffer.alloc(1_000_000)],
  ])('are bounded together: %s', (_, value) => {
    const { log, lines } = capturedLog();
    new BoundedLog(log).child({ value }).info({ value, err: value }, 'message');
    expect(JSON.stringify(lines[0]).length).toBeLessThan(60_000);
  });

  it('are all there but one that throws when it is read', () => {
    const { log, lines } = capturedLog();
    const throws = () => {
      throw new Error('no');
    };
    const err = new Proxy(new Error('x'), { get: throws });
    new BoundedLog(log).error(
      {
        stage: 'bad',
        err,
        config: {
          get key() {
            return throws();
          },
        },
      },
      'threw',
    );
    expect(lines).toMatchObject([
      { msg: 'threw', stage: 'bad', err: '[unreadable]', config: { key: '[unreadable]' } },
    ]);
  });

  it('are bounded when an object contains itself', () => {
    const loop: Record<string, unknown> = { name: 'loop' };
    loop.self = loop;
    expect(JSON.stringify(boundedFields({ loop })).length).toBeLessThan(500);
  });
});

describe('an error in a log line', () => {
  it('is the same object when all of it may be logged', () => {
    const error = Object.assign(new Error('refused', { cause: new Error('no route') }), { code: 'ECONN' });
    expect(errOf(error)).toBe(error);
  });

  it('keeps its class, message, stack, code and cause when it is copied', () => {
    class Special extends Error {}
    const error = Object.assign(new Special('said', { cause: new TypeError('why') }), {
      code: 'E_CODE',
      status: 503,
      body: 'a prompt',
    });
    const copy = errOf(error);
    expect(copy).toBeInstanceOf(Special);
    expect([copy.message, copy.code, copy.status, copy.stack]).toEqual(['said', 'E_CODE', 503, error.stack]);
    expect(copy.cause).toBe(error.cause);
    expect(copy).not.toHaveProperty('body');
    expect(error.body).toBe('a prompt');
  });

  it('keeps the errors of each address, whose parent has no message', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:9'), {
      code: 'ECONNREFUSED',
      extra: {},
    });
    const [first] = errOf(new AggregateError([refused])).errors as Error[];
    expect(first).toMatchObject({ message: 'connect ECONNREFUSED ::1:9', code: 'ECONNREFUSED' });
  });

  it('is cut in each of many errors, whose parent has little to say', () => {
    const errors = Array.from({ length: 100 }, () => new Error(huge));
    const kept = errOf(new AggregateError(errors, 'all failed')).errors as Error[];
    expect(kept).toHaveLength(4);
    expect(kept.map(({ message }) => message).join('').length).toBeLessThan(10_000);
  });

  it.each(['"my secret prompt', '{"a":1} my secret', '{"text": my secret prompt that is rather long }'])(
    'does not quote the text that is no JSON: %s',
    text => {
      let thrown: unknown;
      try {
        JSON.parse(text);
      } catch (error) {
        thrown = new Error('the body is wrong', { cause: error });
      }
      const { log, lines } = capturedLog();
      new BoundedLog(log).warn({ err: thrown }, 'refused');
      expect(JSON.stringify(lines)).not.toContain('secret');
      expect(JSON.stringify(lines)).toMatch(/JSON/);
    },
  );
});

describe('the message of a log line', () => {
  it('keeps its end when it is long, such as the status behind a path', () => {
    const message = boundedMessage(`POST /${huge} 404`);
    expect(message).toMatch(/^POST \/x+…\[\d+ characters\]…x+ 404$/);
    expect(message.length).toBeLessThan(560);
  });

  it.each([
    ['a line break', 'a\nb', 'a\\u000ab'],
    ['an escape sequence', 'a\u001b[2Jb', 'a\\u001b[2Jb'],
    ['an 8-bit control sequence', 'a\u009b2Jb', 'a\\u009b2Jb'],
    ['a change of direction', 'a\u202eb', 'a\\u202eb'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['a paragraph separator', 'a\u2029b', 'a\\u2029b'],
    ['half a character', 'a\ud800b', 'a\\ud800b'],
  ])('has %s escaped', (_, message, expected) => {
    expect(boundedMessage(message)).toBe(expected);
  });

  it('keeps letters of all languages and emoji', () => {
    expect(boundedMessage('größer ßß 日本語 العربية 😀')).toBe('größer ßß 日本語 العربية 😀');
  });
});
