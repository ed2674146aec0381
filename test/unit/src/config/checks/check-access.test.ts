import { expect, it } from '@jest/globals';
import { checkAccess } from '../../../../../src/config/checks/check-access.ts';

const auth = { name: 'auth', authenticates: true };
const limit = { name: 'rate-limit', authenticates: false };
const limited = { limits: { requests_per_minute: 1 }, keys: [] };
const unlimited = { keys: [] };
const nobody = { stages: [], accounts: {}, plans: {}, open: false, accountOf: false };

it.each<[object, boolean, string[]]>([
  [{}, false, ['must list auth: without it every']],
  [{}, true, []],
  [{ accounts: { a: unlimited } }, true, ['must list auth: without it every']],
  [{ plans: { p: { requests_per_minute: 1 } } }, true, ['must list auth', 'must list rate-limit']],
  [{ open: true }, false, []],
  [{ open: true, stages: [auth] }, false, ['has no effect: the stage auth']],
  [{ open: true, accountOf: true }, false, ['must list auth: without it the option accountOf']],
  [{ accountOf: true, stages: [auth] }, false, []],
  [{ stages: [limit, auth] }, false, ['must come after auth']],
  [{ stages: [auth, limit], accounts: { a: limited } }, false, []],
  [
    { stages: [auth], accounts: { b: unlimited, a: limited } },
    false,
    ['must list rate-limit: nothing else holds the limits of accounts.a'],
  ],
])('reports of %j, before a handler: %p', (access, mayBeInner, expected) => {
  const place = { path: ['open'], written: 'open: true', mayBeInner };
  const issues = [...checkAccess({ ...nobody, ...access }, place)];
  expect(issues.map(({ message }) => message)).toEqual(expected.map(text => expect.stringContaining(text)));
});
