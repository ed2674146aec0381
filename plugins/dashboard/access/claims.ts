import { operatorRoles } from '../../../src/plugin.ts';
import type { Person, Role } from './roles.ts';
import type { AdminOidcSettings, PortalOidcSettings } from './sign-in-settings.ts';

/** What one answer of an OpenID provider says about a person. */
type Claims = Readonly<Record<string, unknown>>;

/** All that it says about one person: the ID token, then userinfo if it was asked. Claims that belong together are never taken from both. */
export type ClaimSources = readonly Claims[];

/** Who of the people that a provider knows may sign in, and as whom. */
export interface OidcPeople {
  /** The person whom the configuration has by this name. */
  byName(name: string): Person | undefined;
  /** The person whom further claims describe. */
  byClaims(name: string, claims: ClaimSources): Person | undefined;
  /** The settings behind `byClaims`: sessions of people who were let in by claims end when they change. */
  readonly claimsRule: unknown;
}

/** The people of `admin.oidc`. */
export function operatorsByClaims(settings: AdminOidcSettings): OidcPeople {
  const { role_claim, claim_roles } = settings;
  const byName = namedIn(settings.roles, settings);
  return {
    byName(name) {
      const role = byName(name);
      return role && { actor: name, role };
    },
    byClaims(name, claims) {
      const role = role_claim === undefined ? undefined : strongest(claim_roles, textsIn(claims, role_claim));
      return role && { actor: name, role };
    },
    claimsRule: { role_claim, claim_roles },
  };
}

/** The people of `portal.oidc`. */
export function customersByClaims(settings: PortalOidcSettings): OidcPeople {
  const { account_claim } = settings;
  const byName = namedIn(settings.accounts, settings);
  return {
    byName(name) {
      const account = byName(name);
      return account === undefined ? undefined : { actor: name, role: 'customer', account };
    },
    byClaims(name, claims) {
      const [account = '', ...others] = account_claim === undefined ? [] : textsIn(claims, account_claim);
      return account === '' || others.length > 0 ? undefined : { actor: name, role: 'customer', account };
    },
    claimsRule: { account_claim },
  };
}

/** Looks up a name as the provider gives it: addresses of mail in any case. */
function namedIn<T>(
  values: Readonly<Record<string, T>>,
  { name_claim }: { readonly name_claim: string },
): (name: string) => T | undefined {
  const normalized = (name: string) => normalizedName(name, name_claim);
  const known = new Map(Object.entries(values).map(([name, value]) => [normalized(name), value]));
  return name => known.get(normalized(name));
}

/** A name by which people are known. */
export const normalizedName = (name: string, name_claim: string): string =>
  name_claim === 'email' ? name.toLowerCase() : name;

/** The most powerful role that one of `values` has. */
export const strongest = (
  given: Readonly<Record<string, Role>>,
  values: readonly string[],
): Role | undefined =>
  operatorRoles.find(role => values.some(value => Object.hasOwn(given, value) && given[value] === role));

/**
 * The texts of a claim, which is a text or a list, in the first source that has it; `a.b` finds `b` inside `a` unless there is a claim `a.b`.
 * A source has an address of mail only if it says itself that the address is verified: `email_verified` of another may be about another one.
 */
export function textsIn(sources: ClaimSources, name: string): readonly string[] {
  const source = sources.find(
    claims => valueIn(claims, name) !== undefined && (name !== 'email' || hasVerified(claims)),
  );
  return [source && valueIn(source, name)].flat().filter(one => typeof one === 'string');
}

/** Amazon Cognito sends it as a text. */
const hasVerified = ({ email_verified }: Claims): boolean =>
  email_verified === true || email_verified === 'true';

const valueIn = (claims: Claims, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : inside(claims, name.split('.'));

const inside = (claims: Claims, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Claims)[name]
        : undefined,
    claims,
  );
