import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';
import { standardOutput } from './standard-output.ts';

/** The log, which receives everything that clients must not see. */
export type Log = Logger;

/** A log with `level` on standard output; keys, prompts and answers are never passed to it. */
export function createLog(level: LoggerOptions['level'] = 'info'): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, standardOutput);
}

/** Registers the count of log lines that this process could not write. */
export function registerLogMetrics(registry: Registry): void {
  const dropped = new MetricFactory(registry).counter({
    name: 'sluice_log_dropped_lines_total',
    help: 'Log lines that were dropped because standard output was not read.',
  });
  dropped.read(() => standardOutput.dropped_lines);
}
