import { type LoggerOptions, pino } from 'pino';
import { boundedFields, boundedMessage } from './bounded-fields.ts';
import { createLog, type Log, type LogFormat } from './log.ts';

/**
 * The application's logger: pino, a child of one, Fastify's `app.log`, bunyan, `console`. Every line is one call with fields and a message,
 * `logger.info({ status: 200 }, 'POST /v1/chat/completions 200')`; the field `err` has an Error.
 */
export interface Logger {
  /** Writes a line about what needs an operator. */
  error(fields: object, message: string): unknown;
  /** Writes a line about what may need one. */
  warn(fields: object, message: string): unknown;
  /** Writes a line about normal work, such as one per exchange. */
  info(fields: object, message: string): unknown;
  /** Writes a line for debugging, such as refusals of clients. */
  debug(fields: object, message: string): unknown;
  /** Without it, `error` is called. */
  fatal?(fields: object, message: string): unknown;
  /** A logger with `fields` on every line. Without it, they are added to the fields of each line. */
  child?(fields: Record<string, unknown>): Logger;
  /** Without it, every level counts as enabled. */
  isLevelEnabled?(level: string): boolean;
}

const required = ['error', 'warn', 'info', 'debug'] as const;
const optional = ['fatal', 'child', 'isLevelEnabled'] as const;
type Level = 'fatal' | (typeof required)[number];

/** Why `value` cannot be used as a Logger; undefined if it can. Calls its `child` once. */
export function faultOfLogger(value: unknown): string | undefined {
  const fault = faultOfMethods(value);
  if (fault !== undefined) return `must be a logger with the methods of pino; ${fault}`;
  const logger = value as Logger;
  // All of winston's loggers have these. They have every method that is needed, and print [object Object] as the message.
  if ('transports' in logger && 'exceptions' in logger)
    return 'must be a logger that takes fields before the message; winston takes the message first: wrap it, as docs/reference/in-code.md#a-logger shows';
  if (!logger.child) return undefined;
  try {
    const ofChild = faultOfMethods(logger.child({}));
    return ofChild && `must have a method child that returns a logger; ${ofChild} in what it returns`;
  } catch (thrown) {
    return `must have a method child that returns a logger; it threw: ${messageOf(thrown)}`;
  }
}

function faultOfMethods(value: unknown): string | undefined {
  if (typeof value !== 'object' && typeof value !== 'function') return `an object is needed, not ${value}`;
  if (value === null) return 'an object is needed, not null';
  const methods = value as Record<string, unknown>;
  const lacked = required.filter(name => typeof methods[name] !== 'function');
  if (lacked.length > 0) return `methods that it lacks: ${lacked.join(', ')}`;
  const wrong = optional.find(name => methods[name] !== undefined && typeof methods[name] !== 'function');
  return wrong && `${wrong} is no method`;
}

/** The log of a gateway or chain: the application's logger, or one with `level` and `format` on standard output. */
export const logOf = (
  logger: Logger | undefined,
  level: LoggerOptions['level'],
  format: LogFormat = 'auto',
): Log => new BoundedLog(logger ?? createLog(level, format));

/** A log of the gateway's own on standard output, and what changes its level and that of all its children. */
export function adjustableLog(
  level: LogLevel,
  format: LogFormat,
): { readonly log: Log; readonly setLevel: (level: LogLevel) => void } {
  const threshold = { least: severityOf(level) };
  const log = new BoundedLog(createLog('trace', format), none, undefined, threshold);
  return { log, setLevel: next => void (threshold.least = severityOf(next)) };
}

type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

const severities: Readonly<Record<string, number>> = pino.levels.values;

const severityOf = (level: string): number => severities[level] ?? Number.POSITIVE_INFINITY;

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** The least severity of lines that are written; shared by a log and its children. */
interface Threshold {
  least: number;
}

/** Fields of a log whose logger has them itself. */
const none: Record<string, unknown> = {};

/**
 * A Log that writes to a logger, which may be the application's. Texts are cut, so that no client and no upstream can fill the log. Faults of
 * the logger end nothing; the first one is a warning of the process.
 */
export class BoundedLog implements Log {
  readonly #logger: Logger;
  readonly #fields: Record<string, unknown>;
  readonly #reported: { isDone: boolean };
  readonly #threshold: Threshold | undefined;

  constructor(
    logger: Logger,
    fields: Record<string, unknown> = none,
    reported = { isDone: false },
    threshold?: Threshold,
  ) {
    this.#logger = logger;
    this.#fields = fields;
    this.#reported = reported;
    this.#threshold = threshold;
  }

  fatal(fields: object | string, message?: string): void {
    this.#write(this.#logger.fatal ? 'fatal' : 'error', fields, message);
  }

  error(fields: object | string, message?: string): void {
    this.#write('error', fields, message);
  }

  warn(fields: object | string, message?: string): void {
    this.#write('warn', fields, message);
  }

  info(fields: object | string, message?: string): void {
    this.#write('info', fields, message);
  }

  debug(fields: object | string, message?: string): void {
    this.#write('debug', fields, message);
  }

  child(given: Record<string, unknown>): Log {
    const fields = this.#guarded(() => boundedFields(this.#with(given))) ?? this.#fields;
    const child = this.#guarded(() => this.#logger.child?.(fields));
    return faultOfMethods(child) === undefined
      ? new BoundedLog(child!, none, this.#reported, this.#threshold)
      : new BoundedLog(this.#logger, fields, this.#reported, this.#threshold);
  }

  isLevelEnabled(level: string): boolean {
    if (this.#threshold && severityOf(level) < this.#threshold.least) return false;
    return this.#guarded(() => this.#logger.isLevelEnabled?.(level)) ?? true;
  }

  #write(level: Level, given: object | string, message = ''): void {
    // The others are rare, and a logger may not know every name.
    if (this.#threshold) {
      if (severities[level]! < this.#threshold.least) return;
    } else if ((level === 'debug' || level === 'info') && !this.isLevelEnabled(level)) return;
    const written = this.#guarded(() =>
      typeof given === 'string'
        ? this.#logger[level]!(this.#fields, boundedMessage(given))
        : this.#logger[level]!(boundedFields(this.#with(given)), boundedMessage(message)),
    );
    // A rejection without a handler would end the process.
    if (written instanceof Promise) written.catch(thrown => this.#report(thrown));
  }

  #with(given: object): Record<string, unknown> {
    return this.#fields === none ? (given as Record<string, unknown>) : { ...this.#fields, ...given };
  }

  #guarded<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (thrown) {
      this.#report(thrown);
      return undefined;
    }
  }

  #report(thrown: unknown): void {
    if (this.#reported.isDone) return;
    this.#reported.isDone = true;
    process.emitWarning(`the logger given to sluice threw: ${messageOf(thrown)}`);
  }
}
