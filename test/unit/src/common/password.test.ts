import { describe, expect, it } from '@jest/globals';
import { hashPassword, isPassword, isPasswordHash } from '../../../../src/common/password.ts';

describe('the hash of a password', () => {
  it('matches its password only, and differs each time', async () => {
    const [one, two] = await Promise.all([hashPassword('a long secret'), hashPassword('a long secret')]);
    expect(one).not.toBe(two);
    expect(isPasswordHash(one)).toBe(true);
    expect(await isPassword('a long secret', one)).toBe(true);
    expect(await isPassword('a long secret', two)).toBe(true);
    expect(await isPassword('a long Secret', one)).toBe(false);
    expect(await isPassword('', one)).toBe(false);
  });

  it('does not depend on how a keyboard encodes an accent', async () => {
    expect(await isPassword('cafe\u0301 cafe\u0301 cafe', await hashPassword('café café cafe'))).toBe(true);
  });

  it.each([
    '',
    'secret',
    'scrypt:32768:8:1:c2FsdHNhbHRzYWx0c2FsdA',
    'scrypt:32767:8:1:c2FsdHNhbHRzYWx0c2FsdA:a2V5a2V5a2V5a2V5a2V5a2V5a2V5',
    'scrypt:1024:8:1:c2FsdHNhbHRzYWx0c2FsdA:a2V5a2V5a2V5a2V5a2V5a2V5a2V5',
    'scrypt:4194304:8:1:c2FsdHNhbHRzYWx0c2FsdA:a2V5a2V5a2V5a2V5a2V5a2V5a2V5',
    'scrypt:32768:99:1:c2FsdHNhbHRzYWx0c2FsdA:a2V5a2V5a2V5a2V5a2V5a2V5a2V5',
  ])('is not recognized: %s', async text => {
    expect(isPasswordHash(text)).toBe(false);
    expect(await isPassword('secret', text)).toBe(false);
  });
});
