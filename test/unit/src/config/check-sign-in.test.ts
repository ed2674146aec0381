import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { adminProxySchema } from '../../../../src/records/sign-in-schema.ts';
import { mistakesOf, sampleConfig } from './sample-config.ts';

const issuer = 'https://login.example.com';
const oidc = { issuer, client_id: 'sluice', roles: { 'anna@example.com': 'admin' } };
const proxy = { addresses: ['10.0.0.0/8'], roles: { anna: 'admin' } };

const mistakesAt = (admin: object) => mistakesOf(sampleConfig({ admin }));
const warningsOf = async (admin: object, operatorOf?: unknown) =>
  (await loadConfig(sampleConfig({ admin }), {}, { operatorOf })).warnings.filter(line =>
    line.startsWith('admin'),
  );

describe('the check of sign-in at the dashboard', () => {
  it('accepts OpenID and a proxy, by names or by further roles', async () => {
    expect(await warningsOf({ oidc, proxy })).toEqual([]);
    const byRoles = {
      oidc: { issuer, client_id: 'sluice', role_claim: 'groups', claim_roles: { ops: 'admin' } },
      proxy: { addresses: ['::1'], role_header: 'X-Groups', header_roles: { ops: 'admin' } },
    };
    expect(await warningsOf(byRoles)).toEqual([]);
    for (const host of ['localhost', '127.0.0.1', '[::1]:8080'])
      expect(await warningsOf({ oidc: { ...oidc, issuer: `http://${host}` } })).toEqual([]);
    expect(adminProxySchema.parse({ ...proxy, header: 'X-User' }).header).toBe('x-user');
  });

  it.each<[object, string]>([
    [{ oidc: { ...oidc, roles: {} } }, 'admin.oidc.roles: must say who may sign in'],
    [{ oidc: { ...oidc, role_claim: 'groups' } }, 'admin.oidc.claim_roles: is needed with role_claim'],
    [
      { oidc: { ...oidc, claim_roles: { ops: 'admin' } } },
      'admin.oidc.role_claim: is needed with claim_roles',
    ],
    [{ oidc: { ...oidc, issuer: 'http://login.example.com' } }, 'admin.oidc.issuer: must be the https'],
    [{ oidc: { ...oidc, issuer: `${issuer}/?a=b` } }, 'admin.oidc.issuer: must be the https'],
    [{ oidc: { ...oidc, issuer: `${issuer}/#a` } }, 'admin.oidc.issuer: must be the https'],
    [{ oidc: { ...oidc, issuer: 'ftp://localhost' } }, 'admin.oidc.issuer: must be the https'],
    [{ oidc: { ...oidc, scopes: ['email'] } }, 'admin.oidc.scopes: must include openid'],
    [{ oidc: { ...oidc, redirect_url: 'https://ops.example.com/' } }, 'admin.oidc.redirect_url: must end'],
    [{ oidc: { ...oidc, roles: { anna: 'customer' } } }, 'admin.oidc.roles.anna: '],
    [{ proxy: { ...proxy, roles: {} } }, 'admin.proxy.roles: must say who may enter'],
    [{ proxy: { ...proxy, addresses: [] } }, 'admin.proxy.addresses: must list the addresses'],
    [{ proxy: { roles: { anna: 'admin' } } }, 'admin.proxy.addresses: '],
    [{ proxy: { ...proxy, addresses: ['10.0.0.0/40'] } }, 'admin.proxy.addresses[0]: must be an address'],
    [{ proxy: { ...proxy, header: 'a b' } }, 'admin.proxy.header: must be the name of a header'],
  ])('rejects %j', async (admin, mistake) => {
    expect(await mistakesAt(admin)).toEqual([expect.stringContaining(mistake)]);
  });

  it('rejects OpenID at the portal that says of nobody whose account they see', async () => {
    const portal = { enabled: true, oidc: { issuer, client_id: 'portal' } };
    expect(await mistakesOf(sampleConfig({ portal }))).toEqual([
      expect.stringContaining('portal.oidc.accounts: must say whose account people see'),
    ]);
  });

  it('warns where nobody can change anything', async () => {
    const viewers = { roles: { 'vera@example.com': 'viewer' } };
    const warning = expect.stringContaining('every user is a viewer');
    expect(await warningsOf({ oidc: { ...oidc, ...viewers } })).toEqual([warning]);
    expect(await warningsOf({ oidc: { ...oidc, ...viewers }, proxy })).toEqual([]);
  });

  it('warns of ways to sign in that the application replaces', async () => {
    const users = { ann: { password: 'twelve letters' } };
    expect(await warningsOf({ users, oidc, proxy }, () => undefined)).toEqual(
      ['users', 'oidc', 'proxy'].map(name => expect.stringContaining(`admin.${name}: has no effect`)),
    );
  });
});
