import { type Logger, type LoggerOptions, pino } from 'pino';
import { standardOutput } from './standard-output.ts';

/** The log, which receives everything that clients must not see. */
export type Log = Logger;

/** A log with `level` on standard output; keys, prompts and answers are never passed to it. */
export function createLog(level: LoggerOptions['level'] = 'info'): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, standardOutput);
}
