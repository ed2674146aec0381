import { expect, it } from '@jest/globals';
import { copyHeaders } from '../../../../../src/upstream/attempt/copied-headers.ts';

it('copies the named headers of an upstream and removes those of an earlier one', () => {
  const to = { 'x-served-by': 'first', 'x-region': 'west', 'x-mine': 'stays' };
  copyHeaders({ 'x-served-by': 'second', server: 'engine/1' }, to, ['x-served-by', 'x-region']);
  expect(to).toEqual({ 'x-served-by': 'second', 'x-mine': 'stays' });
});

it('copies no header that is not named', () => {
  const to = {};
  copyHeaders({ 'x-served-by': 'second', 'set-cookie': ['a=b'] }, to);
  expect(to).toEqual({});
});
