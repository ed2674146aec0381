import type { ConfigIssue } from '../common/config-error.ts';
import type { CheckedConfig } from './schema.ts';

/** Reports ways to sign in that give no person a role, and so refuse everybody. */
export function* checkSignIn({ admin: { oidc, proxy }, portal }: CheckedConfig): Generator<ConfigIssue> {
  const isEmpty = (roles: object) => Object.keys(roles).length === 0;
  if (portal.oidc && isEmpty(portal.oidc.accounts) && portal.oidc.account_claim === undefined)
    yield {
      path: ['portal', 'oidc', 'accounts'],
      message: 'must say whose account people see: accounts by name here, or account_claim',
    };
  if (oidc) {
    if (isEmpty(oidc.roles) && isEmpty(oidc.claim_roles))
      yield {
        path: ['admin', 'oidc', 'roles'],
        message: 'must say who may sign in: roles by name here, or by a claim in claim_roles',
      };
    yield* halves('oidc', ['role_claim', oidc.role_claim], ['claim_roles', oidc.claim_roles]);
  }
  if (proxy) {
    if (isEmpty(proxy.roles) && isEmpty(proxy.header_roles))
      yield {
        path: ['admin', 'proxy', 'roles'],
        message: 'must say who may enter: roles by name here, or by a header in header_roles',
      };
    yield* halves('proxy', ['role_header', proxy.role_header], ['header_roles', proxy.header_roles]);
  }
}

function* halves(
  section: 'oidc' | 'proxy',
  [source, given]: readonly [string, string | undefined],
  [mapping, roles]: readonly [string, object],
): Generator<ConfigIssue> {
  const hasRoles = Object.keys(roles).length > 0;
  if (given === undefined && hasRoles)
    yield { path: ['admin', section, source], message: `is needed with ${mapping}` };
  if (given !== undefined && !hasRoles)
    yield { path: ['admin', section, mapping], message: `is needed with ${source}` };
}

/** Warnings about who may use the dashboard. `operatorOf`: the application says who does. */
export function* signInWarnings(
  { admin: { users, oidc, proxy, trust_proxy } }: CheckedConfig,
  operatorOf: boolean,
): Generator<string> {
  if (operatorOf) {
    const given = { users: Object.keys(users).length > 0, oidc, proxy };
    for (const [name, isGiven] of Object.entries(given))
      if (isGiven)
        yield `admin.${name}: has no effect: the option operatorOf of createGateway is used in its place`;
    return;
  }
  const roles = [
    ...Object.values(users).map(({ role }) => role),
    ...[oidc?.roles, oidc?.claim_roles, proxy?.roles, proxy?.header_roles].flatMap(by =>
      Object.values(by ?? {}),
    ),
  ];
  if (roles.length > 0 && roles.every(role => role === 'viewer'))
    yield 'admin: every user is a viewer: accounts and keys cannot be changed in the dashboard';
  if (oidc && !oidc.redirect_url && trust_proxy)
    yield 'admin.oidc.redirect_url: is not set, so the Host header that the proxy sends must be the one that browsers use';
}
