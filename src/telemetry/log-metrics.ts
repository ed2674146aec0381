import { Counter, type Registry } from 'prom-client';
import { standardOutput } from './standard-output.ts';

/** Registers the count of log lines that this process could not write. */
export function registerLogMetrics(registry: Registry): void {
  new Counter({
    name: 'sluice_log_dropped_lines_total',
    help: 'Log lines that were dropped because standard output was not read.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(standardOutput.dropped_lines);
    },
  });
}
