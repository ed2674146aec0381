import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';
import { standardOutput } from './standard-output.ts';

/** Registers the count of log lines that this process could not write. */
export function registerLogMetrics(registry: Registry): void {
  const dropped = new MetricFactory(registry).counter({
    name: 'sluice_log_dropped_lines_total',
    help: 'Log lines that were dropped because standard output was not read.',
  });
  dropped.read(() => standardOutput.dropped_lines);
}
