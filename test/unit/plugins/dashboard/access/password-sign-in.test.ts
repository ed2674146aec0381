import { expect, it } from '@jest/globals';
import { PasswordSignIn } from '../../../../../plugins/dashboard/access/password-sign-in.ts';
import { LoginThrottle } from '../../../../../src/records/login-throttle.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

it('counts no failure for a password that it had no time to compare', async () => {
  const throttle = new LoginThrottle(new FakeClock());
  const signIn = new PasswordSignIn({
    findLogin: async () => undefined,
    throttle,
    cookies: 'x',
    formToken: () => '',
    addressOf: ({ headers }) => String(headers.from),
    setCookie: () => {},
    refused: () => {},
    otherWay: () => undefined,
  });
  const tried = (from: string) =>
    signIn.confirm({ headers: { from } } as never, 'olga', 'a guess').then(said => [from, said]);
  // Two are compared and twenty wait.
  const first = Array.from({ length: 22 }, (_, at) => tried(`192.0.2.${at}`));
  const late = await Promise.all(Array.from({ length: 5 }, () => tried('198.51.100.1')));
  expect(late).toEqual(Array(5).fill(['198.51.100.1', 'Too many attempts. Try again in 1 second.']));
  expect(throttle.wait_ms({ name: 'olga', address: '198.51.100.1' })).toBe(0);
  expect((await first[21])![1]).toBe('The current password is wrong.');
  await Promise.all(first);
});
