import type { Settings } from '../config/load.ts';
import type { FixedValues, ProcessKind } from './reload.ts';
import type { OtherProcesses } from './server-status.ts';

/** The place of a gateway's process among those of one sidecar; empty for the only one. */
export interface GatewayProcess extends OtherProcesses {
  /** In a worker: options that have the primary's values, whatever its configuration says. */
  readonly fixed?: FixedValues;
  /**
   * In the primary: lets all workers serve these settings, which this process is about to serve. Rejects if one refuses; none serves them
   * then. Returns what lets them go back.
   */
  readonly forward?: (settings: Settings) => Promise<() => Promise<void>>;
}

export const kindOf = ({ primary, workers }: OtherProcesses): ProcessKind => {
  if (primary) return 'worker';
  return workers ? 'primary' : 'alone';
};
