import { expect, it } from '@jest/globals';
import { slotOf } from '../../../../../plugins/stores/redis/key-slot.ts';

it('is the slot of what is in the first braces of a key, if that is not empty, or of all of it', () => {
  expect([slotOf('123456789'), slotOf('foo')]).toEqual([12_739, 12_182]);
  expect(['{foo}', '}{foo}b', 'x{foo}{bar}'].map(slotOf)).toEqual([12_182, 12_182, 12_182]);
  const whole = ['{}foo', 'foo{}', 'a{b', '}foo{'].map(slotOf);
  expect(new Set([...whole, slotOf(''), 12_182]).size).toBe(6);
  expect(slotOf('{}')).not.toBe(slotOf(''));
});
