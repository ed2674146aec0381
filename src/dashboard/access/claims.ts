import type { AdminOidcSettings, PortalOidcSettings } from '../../config/sign-in-schema.ts';
import { type Person, type Role, roles } from './roles.ts';

/** What an OpenID provider has said about a person. */
export type Claims = Readonly<Record<string, unknown>>;

/** Who of the people that a provider knows may sign in, and as whom. */
export interface OidcPeople {
  /** The person whom the configuration has by this name. */
  byName(name: string): Person | undefined;
  /** The person whom further claims describe. */
  byClaims(name: string, claims: Claims): Person | undefined;
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
export function namedIn<T>(
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
  roles.find(role => values.some(value => Object.hasOwn(given, value) && given[value] === role));

/** The texts of a claim, which is a text or a list; `a.b` finds `b` inside `a` unless there is a claim `a.b`. */
export function textsIn(claims: Claims, name: string): readonly string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : inside(claims, name.split('.'));
  return [value].flat().filter(one => typeof one === 'string');
}

const inside = (claims: Claims, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Claims)[name]
        : undefined,
    claims,
  );
