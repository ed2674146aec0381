import { expect, it } from '@jest/globals';
import { changedFields, changesNothing } from '../../../../../plugins/stores/records/changed-fields.ts';

it.each<[object, object, object]>([
  [{ a: 1, b: [1] }, { a: 1, b: [1] }, {}],
  [
    { a: 1, b: [1] },
    { a: undefined, b: [2] },
    { b: [2], before: { b: [1] } },
  ],
  [{ a: null }, { a: 0, c: 'new' }, { a: 0, c: 'new', before: { a: null, c: undefined } }],
  [
    { limits: { same: 1, less: 5, gone: 2 } },
    { limits: { same: 1, less: 4, more: 3 } },
    { limits: { less: 4, more: 3 }, before: { limits: { less: 5, gone: 2 } } },
  ],
])('of %j, set to %j, what has changed is %j', (record, set, expected) => {
  expect(changedFields(record, set)).toEqual(expected);
  if (!Object.values(set).includes(undefined))
    expect(changesNothing(record, set)).toBe(Object.keys(expected).length === 0);
});
