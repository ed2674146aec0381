import { expect, it } from '@jest/globals';
import { knownBrowserCookie, knownBrowserOf } from '../../../../../plugins/dashboard/access/passwords.ts';

const cookie = knownBrowserCookie('olga', 'hash of olga');

it('recognizes a browser by its cookie, each with an id of its own', () => {
  const id = knownBrowserOf(cookie, 'olga', 'hash of olga');
  expect(id).toMatch(/^[\w-]{16}$/);
  expect(knownBrowserOf(cookie, 'olga', 'hash of olga')).toBe(id);
  const other = knownBrowserCookie('olga', 'hash of olga');
  expect(knownBrowserOf(other, 'olga', 'hash of olga')).not.toBe(id);
});

it.each([
  ['of another operator', cookie, 'otto', 'hash of olga'],
  ['of an earlier password', cookie, 'olga', 'new hash of olga'],
  ['that was changed', `${cookie.startsWith('A') ? 'B' : 'A'}${cookie.slice(1)}`, 'olga', 'hash of olga'],
  ['that was forged', 'A'.repeat(43), 'olga', 'hash of olga'],
  ['of another length', cookie.slice(4), 'olga', 'hash of olga'],
])('does not recognize a cookie %s', (_, given, name, hash) => {
  expect(knownBrowserOf(given, name, hash)).toBeUndefined();
});
