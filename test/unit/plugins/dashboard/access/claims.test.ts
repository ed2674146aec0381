import { describe, expect, it } from '@jest/globals';
import { operatorsByClaims, textsIn } from '../../../../../plugins/dashboard/access/claims.ts';

describe('the claims of an ID token and of userinfo', () => {
  it('are taken whole from one of them, the token first, and never mixed', () => {
    const [token, userinfo] = [
      { groups: ['staff'], realm: { name: 'a' } },
      { groups: ['support'], realm: { name: 'b', roles: ['x'] }, team: 'blue' },
    ];
    expect(textsIn([token, userinfo], 'groups')).toEqual(['staff']);
    expect(textsIn([{ groups: [] }, userinfo], 'groups')).toEqual([]);
    expect(textsIn([{}, userinfo], 'groups')).toEqual(['support']);
    expect(textsIn([token, userinfo], 'realm.name')).toEqual(['a']);
    expect(textsIn([token, userinfo], 'realm.roles')).toEqual(['x']);
    expect(textsIn([token, userinfo], 'team')).toEqual(['blue']);
    expect(textsIn([token], 'team')).toEqual([]);
  });

  it('have an address of mail only where it is verified, also as a claim that gives a role', () => {
    const email = 'anna@example.com';
    const { byClaims } = operatorsByClaims({
      name_claim: 'sub',
      roles: {},
      role_claim: 'email',
      claim_roles: { [email]: 'admin' },
    } as never);
    expect(byClaims('anna', [{ email }])).toBeUndefined();
    expect(byClaims('anna', [{ email }, { email_verified: true }])).toBeUndefined();
    expect(byClaims('anna', [{ email, email_verified: ['true'] }])).toBeUndefined();
    expect(byClaims('anna', [{}, { email, email_verified: 'true' }])?.role).toBe('admin');
  });
});
