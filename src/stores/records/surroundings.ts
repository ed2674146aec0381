import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RecordsMetrics } from '../../telemetry/records-metrics.ts';

/** What a gateway's use of the records reports to. */
export interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RecordsMetrics;
}
