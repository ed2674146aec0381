import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { isPromise } from '../../../../src/common/refused-promise.ts';

let unhandled: unknown[];
const listener = (reason: unknown) => void unhandled.push(reason);

beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', listener);
});

afterEach(() => void process.off('unhandledRejection', listener));

it('handles the rejection of a promise that is refused, so that it does not end the process', async () => {
  expect(isPromise(Promise.reject(new Error('too late')))).toBe(true);
  await new Promise(setImmediate);
  expect(unhandled).toEqual([]);
});

it.each([[undefined], [null], [{}], [() => {}]])('takes %p for no promise', value => {
  expect(isPromise(value)).toBe(false);
});
