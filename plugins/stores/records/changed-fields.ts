import { isDeepStrictEqual } from 'node:util';
import type { ChangeOf } from '../../../src/store-plugin.ts';

type Fields = Readonly<Record<string, unknown>>;

export const changeOf = <R, C extends object>(change: ChangeOf<R, C>, now: R): C =>
  typeof change === 'function' ? change(now) : change;

/** Whether `set` would leave `record` as it is. */
export const changesNothing = (record: object, set: object): boolean =>
  isDeepStrictEqual({ ...record, ...set }, record);

/**
 * Detail of a change for the audit log: what is new, and under `before` what was there; empty if nothing is. Of `limits` only those that
 * differ are named, where one that is left out is not set.
 */
export function changedFields(record: object, set: object): object {
  const [now, then]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const [name, to] of Object.entries(set)) {
    const from = (record as Fields)[name];
    if (to === undefined || isDeepStrictEqual(to, from)) continue;
    const isLimits = name === 'limits';
    now[name] = isLimits ? unlike(to as Fields, from as Fields) : to;
    then[name] = isLimits ? unlike(from as Fields, to as Fields) : from;
  }
  return Object.keys(now).length === 0 ? {} : { ...now, before: then };
}

/** Those of `fields` that differ from `others`. */
const unlike = (fields: Fields, others: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(value, others[name])),
  );
