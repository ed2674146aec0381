import { type AuditQuery, actionsNamed, day_ms, isDay } from '../../src/plugin.ts';

/** The filters of the audit log, as they stand in the address. */
export interface AuditFilters {
  readonly who: string;
  /** An action, or a group of them. */
  readonly action: string;
  readonly target: string;
  /** The first and the last day. */
  readonly from: string;
  readonly to: string;
}

/** The filters that an address has; what makes no sense is as if it were left out. */
export function auditFiltersOf(query: URLSearchParams): AuditFilters {
  const given = (name: string) => (query.get(name) ?? '').trim();
  const action = given('action');
  const day = (name: string) => (isDay(given(name)) ? given(name) : '');
  return {
    who: given('who'),
    action: actionsNamed(action) ? action : '',
    target: given('target'),
    from: day('from'),
    to: day('to'),
  };
}

/** What of the audit log these filters show. */
export const auditQueryOf = ({ who, action, target, from, to }: AuditFilters): Omit<AuditQuery, 'limit'> => ({
  actor: who || undefined,
  actions: actionsNamed(action),
  target: target || undefined,
  from_ms: from ? Date.parse(from) : undefined,
  until_ms: to ? Date.parse(to) + day_ms : undefined,
});
