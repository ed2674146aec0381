import type { Operator } from '../stores/records/audit-log.ts';
import type { Visit } from './page-request.ts';

/** Who makes a change, and when, for the audit log. */
export function operatorOf({ session, desk }: Visit): Operator {
  return { actor: session.actor, at_ms: desk.clock.epoch_ms() };
}
