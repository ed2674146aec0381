import { errorNameOf, isServiceFailure } from '../../common/end-class.ts';
import type { Outcome } from '../exchange/exchange-view.ts';

/**
 * How many lines such as this one's are written, as a share: 1 if this one is written in any case, `log_sample` if it was drawn, 0 if it
 * was not. Drawn at random: ids come from clients, which could choose one that is never logged.
 */
export function lineShare(outcome: Outcome, log_sample: number, draw: number = Math.random()): number {
  // A recorded trace leads to its line, so that it must be there.
  if (log_sample === 1 || outcome.trace_id !== undefined || !(isSuccess(outcome) || isRefusal(outcome)))
    return 1;
  return draw < log_sample ? log_sample : 0;
}

const isSuccess = ({ end_reason, status, error_type, attempts }: Outcome): boolean =>
  end_reason === 'completed' &&
  status < 400 &&
  error_type === undefined &&
  attempts.length < 2 &&
  attempts[0]?.outcome !== 'failed';

/** Refused for what its client did, before anything was asked: one client without a key would fill the log. */
function isRefusal({ end_reason, status, error_type, attempts }: Outcome): boolean {
  if (end_reason !== 'refused' || attempts.length > 0) return false;
  return !isServiceFailure(end_reason, errorNameOf(error_type, status));
}
