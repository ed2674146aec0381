import type { Clock } from '../../common/clock.ts';
import type { Operator } from '../../records/audit-log.ts';
import type { ExtensionContext } from '../../records/define-extension.ts';

/** Who makes a change in code. */
export interface ChangedBy {
  /** The name in the audit log. By default `app`. */
  readonly actor?: string | undefined;
}

/** Records in a page unless the query says how many. */
export const page_records = 100;

/** The operator of a change that is made now. */
export const operatorNow = (clock: Clock, { actor = 'app' }: ChangedBy = {}): Operator => ({
  actor,
  at_ms: clock.epoch_ms(),
});

/** What `change` resolves to, after this instance has noticed the change. */
export async function noticed<T>({ records }: ExtensionContext, change: Promise<T>): Promise<T> {
  const changed = await change;
  await records.refresh();
  return changed;
}
