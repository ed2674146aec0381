import { type Logger, type LoggerOptions, pino } from 'pino';

/** Where everything goes that clients must not see. */
export type Log = Logger;

/** A log with `level`; keys, prompts and answers are never passed to it. */
export function createLog(level: LoggerOptions['level'] = 'info'): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime });
}
