import type { Clock } from '../common/clock.ts';
import type { Log } from './log.ts';
import type { RecordsMetrics } from './records-metrics.ts';

/** What a gateway's use of the records reports to. */
export interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RecordsMetrics;
}
