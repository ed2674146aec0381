import { type LoggerOptions, pino } from 'pino';
import type { Registry } from 'prom-client';
import { escaped } from './bounded-fields.ts';
import { MetricFactory } from './metric-factory.ts';
import { prettyLine } from './pretty-line.ts';
import { standardOutput } from './standard-output.ts';

interface LogMethod {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** The log, which receives everything that clients must not see. Its methods never throw. */
export interface Log {
  /** Writes a line when the process cannot go on. */
  readonly fatal: LogMethod;
  /** Writes a line about what needs an operator. */
  readonly error: LogMethod;
  /** Writes a line about what may need one. */
  readonly warn: LogMethod;
  /** Writes a line about normal work. */
  readonly info: LogMethod;
  /** Writes a line for debugging. */
  readonly debug: LogMethod;
  /** A log with `fields` on every line. */
  child(fields: Record<string, unknown>): Log;
  /** Whether lines of `level` are written. */
  isLevelEnabled(level: string): boolean;
}

/** How lines are written: `auto` is `pretty` on a terminal and `json` elsewhere. */
export type LogFormat = 'auto' | 'json' | 'pretty';

/** What every line of a worker of `server.workers` has: its number, which the primary process has given it. */
const { SLUICE_WORKER } = process.env;
const ofWorker = SLUICE_WORKER === undefined ? null : { worker: Number(SLUICE_WORKER) };

/** A log with `level` on standard output; keys, prompts and answers are never passed to it. */
export function createLog(level: LoggerOptions['level'] = 'info', format: LogFormat = 'auto'): Log {
  const options = { level, base: ofWorker, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, isPretty(format) ? prettyOutput() : jsonOutput);
}

/** Whether lines of `format` are written for people. */
export const isPretty = (format: LogFormat): boolean =>
  format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true);

/** Standard output in JSON. Control characters of ASCII are escaped already, so that most lines are written as they are. */
const jsonOutput = {
  write(line: string): void {
    const isAscii = Buffer.byteLength(line) === line.length;
    standardOutput.write(isAscii ? line : `${escaped(line.trimEnd())}\n`);
  },
};

/** Standard output for people; coloured on a terminal, unless NO_COLOR or its kind is set. */
function prettyOutput() {
  const { stdout } = process;
  const isColoured = stdout.isTTY === true && stdout.hasColors();
  return { write: (line: string) => standardOutput.write(prettyLine(line, isColoured)) };
}

const droppedLines = 'sluice_log_dropped_lines_total';

/** Registers the count of log lines that this process could not write to standard output; once, if called again. */
export function registerLogMetrics(registry: Registry): void {
  if (registry.getSingleMetric(droppedLines)) return;
  const dropped = new MetricFactory(registry).counter({
    name: droppedLines,
    help: 'Log lines that were dropped because standard output was not read.',
  });
  dropped.read(() => standardOutput.dropped_lines);
}
