import { afterEach, describe, expect, it } from '@jest/globals';
import fastify from 'fastify';
import { pino } from 'pino';
import { BoundedLog, faultOfLogger, type Logger } from '../../../../src/telemetry/logger.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { until } from '../../../support/until.ts';

/** A logger with the methods that every logger has, and its calls. */
function plainLogger(more: Partial<Logger> = {}) {
  const calls: unknown[][] = [];
  const method = (level: string) => (fields: object, message: string) => calls.push([level, fields, message]);
  const [error, warn, info, debug] = ['error', 'warn', 'info', 'debug'].map(method);
  const logger = { error, warn, info, debug, ...more } as Logger;
  return { logger, calls };
}

/** The methods and the argument order of bunyan. */
class LoggerLikeBunyan implements Logger {
  readonly lines: unknown[];
  readonly #fields: object;

  constructor(fields: object, lines: unknown[] = []) {
    this.#fields = fields;
    this.lines = lines;
  }

  child(fields: object) {
    return new LoggerLikeBunyan({ ...this.#fields, ...fields }, this.lines);
  }

  readonly fatal = this.#at(60);
  readonly error = this.#at(50);
  readonly warn = this.#at(40);
  readonly info = this.#at(30);
  readonly debug = this.#at(20);

  #at(level: number) {
    return (fields: object, msg: string) => this.lines.push({ level, ...this.#fields, ...fields, msg });
  }
}

describe('faultOfLogger', () => {
  it.each([
    ['pino', () => pino({ level: 'silent' })],
    ['a child of pino', () => pino({ level: 'silent' }).child({ part: 'gateway' })],
    ['the log of a Fastify application', () => fastify({ logger: { level: 'silent' } }).log],
    ['the log of a Fastify application that logs nothing', () => fastify().log],
    ['a logger like bunyan', () => new LoggerLikeBunyan({})],
    ['console', () => console],
    ['a log of sluice', () => new BoundedLog(console)],
  ] satisfies [string, () => Logger][])('accepts %s', (_, make) => {
    expect(faultOfLogger(make())).toBeUndefined();
  });

  const broken = (child: unknown) => plainLogger({ child } as never).logger;
  it.each([
    ['pino', /an object is needed, not pino$/],
    [null, /an object is needed, not null$/],
    [{ info() {} }, /^must be a logger with .*; methods that it lacks: error, warn, debug$/],
    [plainLogger({ isLevelEnabled: true } as never).logger, /isLevelEnabled is no method$/],
    [broken(() => undefined), /^must have a method child .*; an object is needed, not undefined in what it/],
    [broken(() => ({ info() {} })), /methods that it lacks: error, warn, debug in what it returns$/],
    [
      broken(() => {
        throw new Error('no children');
      }),
      /^must have a method child that returns a logger; it threw: no children$/,
    ],
    [{ ...plainLogger().logger, transports: [], exceptions: {} }, /winston takes the message first: wrap it/],
  ])('says what is wrong with a logger (case %#)', (value, fault) => {
    expect(faultOfLogger(value)).toMatch(fault);
  });
});

describe('a log that writes to the logger of an application', () => {
  it('calls it with fields and a message, always', () => {
    const { logger, calls } = plainLogger();
    const log = new BoundedLog(logger);
    log.info({ status: 200 }, 'with fields');
    log.warn('without');
    expect(calls).toEqual([
      ['info', { status: 200 }, 'with fields'],
      ['warn', {}, 'without'],
    ]);
  });

  it('does without fatal, child and isLevelEnabled', () => {
    const { logger, calls } = plainLogger();
    const log = new BoundedLog(logger).child({ stage: 'auth' }).child({ request_id: 'req_1' });
    log.fatal({ err: 'x' }, 'broken');
    log.info('fine');
    expect(calls).toEqual([
      ['error', { stage: 'auth', request_id: 'req_1', err: 'x' }, 'broken'],
      ['info', { stage: 'auth', request_id: 'req_1' }, 'fine'],
    ]);
    expect(log.isLevelEnabled('debug')).toBe(true);
  });

  it("uses the logger's own children and levels", () => {
    const { log: own, lines } = capturedLog('warn');
    const log = new BoundedLog(own as Logger).child({ stage: 'auth' });
    log.fatal({ request_id: 'req_1' }, 'broken');
    log.info('not written');
    expect(lines).toMatchObject([{ level: 60, stage: 'auth', request_id: 'req_1', msg: 'broken' }]);
    expect([log.isLevelEnabled('warn'), log.isLevelEnabled('info')]).toEqual([true, false]);
  });
});

describe('a logger that fails', () => {
  const warnings: string[] = [];
  const listen = (warning: Error) => void warnings.push(warning.message);
  afterEach(() => {
    process.off('warning', listen);
    warnings.length = 0;
  });

  const thrower = () => {
    throw new Error('the disk is full');
  };
  it.each([
    ['throws', thrower],
    ['returns a promise that rejects', async () => thrower()],
  ])('neither throws nor ends the process when it %s, and is a warning once', async (_, info) => {
    process.on('warning', listen);
    const { logger, calls } = plainLogger({ info });
    const log = new BoundedLog(logger);
    const child = log.child({ stage: 'auth' });
    for (const each of [log, child, log.child({})]) each.info('lost');
    log.warn('written');
    expect(calls).toEqual([['warn', {}, 'written']]);
    await until(() => warnings.some(message => message.includes('logger')));
    expect(warnings.filter(message => message.includes('logger'))).toEqual([
      'the logger given to sluice threw: the disk is full',
    ]);
  });

  it('keeps the fields of a child that cannot be made', () => {
    const { logger, calls } = plainLogger({ child: thrower, isLevelEnabled: thrower });
    const log = new BoundedLog(logger).child({ stage: 'auth' });
    log.info('written');
    expect(calls).toEqual([['info', { stage: 'auth' }, 'written']]);
    expect(log.isLevelEnabled('info')).toBe(true);
  });
});
