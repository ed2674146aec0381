import { pino } from 'pino';
import type { Log } from '../../src/telemetry/log.ts';

/** What was logged, line by line. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A log that keeps its lines. */
export interface CapturedLog {
  readonly log: Log;
  readonly lines: LogLine[];
}

/** A new log. */
export function capturedLog(level = 'info'): CapturedLog {
  const lines: LogLine[] = [];
  const log = pino({ level }, { write: (text: string) => void lines.push(JSON.parse(text)) });
  return { log, lines };
}
