import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { ms, off } from '../common/option-schemas.ts';
import { isPasswordHash } from '../common/password.ts';
import { operatorRoles } from './operator-role.ts';

/** What an operator may do. */
const roleSchema = z.enum(operatorRoles);

const name = z.string().min(1).max(256);
const rolesBy = (what: string) => z.record(name, roleSchema).default({}).describe(what);

const isAllowedIssuer = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash } = new URL(text);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return (protocol === 'https:' || (protocol === 'http:' && isLocal)) && search === '' && hash === '';
};

/** How people are recognized by an OpenID provider, whatever they may do then. */
const oidcFields = {
  issuer: z
    .string()
    .refine(isAllowedIssuer, 'must be the https address of a provider, such as https://login.example.com')
    .meta({ address: true })
    .describe(
      'Issuer of the OpenID provider; its `/.well-known/openid-configuration` is read at the first sign-in.',
    ),
  client_id: z.string().min(1).meta({ shown: true }).describe('Id of the client that is registered there.'),
  client_secret: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Its secret, usually `${NAME}` or `${file:PATH}`; a public client has none. PKCE is always used.',
    ),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]+$/, 'must be a scope, without spaces'))
    .meta({ shown: true })
    .default(['openid', 'email', 'profile'])
    .refine(scopes => scopes.includes('openid'), 'must include openid')
    .describe('What is asked for.'),
  redirect_url: z
    .url({
      protocol: /^https?$/,
      error: 'must be an address such as https://ops.example.com/sign-in-callback',
    })
    .refine(text => new URL(text).pathname.endsWith('/sign-in-callback'), 'must end with /sign-in-callback')
    .meta({ address: true })
    .optional()
    .describe(
      'Address of the page `sign-in-callback` as browsers see it, as it is registered at the provider. Without it, it is made from the `Host` of the request.',
    ),
  label: z
    .string()
    .min(1)
    .max(60)
    .meta({ shown: true })
    .default('Sign in with SSO')
    .describe('Text of the button on the sign-in page.'),
  name_claim: z
    .string()
    .min(1)
    .meta({ shown: true })
    .default('email')
    .describe(
      'Claim with the name of a person. An `email` counts only with the `email_verified` of the same answer: ID token or userinfo.',
    ),
};

/** Sign-in at the dashboard by an OpenID provider. */
export const adminOidcSchema = z.strictObject({
  ...oidcFields,
  roles: rolesBy('Who may sign in: `admin`, `operator` or `viewer` by name. Others are refused.'),
  role_claim: z
    .string()
    .min(1)
    .meta({ shown: true })
    .optional()
    .describe(
      'Claim with groups or roles of a person, a text or a list; `realm_access.roles` finds one inside another.',
    ),
  claim_roles: rolesBy(
    'Who else may sign in: role by a value of `role_claim`. A name in `roles` wins; of several values the most powerful role.',
  ),
});

/** Sign-in at the portal by an OpenID provider. */
export const portalOidcSchema = z.strictObject({
  ...oidcFields,
  accounts: z
    .record(name, z.string().min(1).meta({ shown: true }))
    .default({})
    .describe('The account that a person sees, by the name of the person.'),
  account_claim: z
    .string()
    .min(1)
    .meta({ shown: true })
    .optional()
    .describe(
      'Claim with the account of everyone else, a single text: only one that customers cannot choose themselves.',
    ),
});

/** Whether `text` is an address or a network such as `10.0.0.0/8`. */
const isNetwork = (text: string): boolean => ipaddr.isValid(text) || ipaddr.isValidCIDR(text);

/** A header field name, in any case. */
const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header')
  .toLowerCase();

/** Sign-in at the dashboard by a header that a proxy sets. */
export const adminProxySchema = z
  .strictObject({
    addresses: z
      .array(z.string().refine(isNetwork, 'must be an address or a network such as 10.0.0.0/8'))
      .min(1, 'must list the addresses of the proxy')
      .describe(
        'Addresses and networks of the proxy. The header is believed on connections from these alone; `X-Forwarded-For` does not count.',
      ),
    header: headerName
      .default('x-forwarded-user')
      .describe('Header with the name of the person. The proxy must remove it from what browsers send.'),
    roles: rolesBy('Who may enter: `admin`, `operator` or `viewer` by name. Others are refused.'),
    role_header: headerName
      .optional()
      .describe('Header with groups or roles of the person, separated by commas, from the same proxy.'),
    header_roles: rolesBy(
      'Who else may enter: role by a value of `role_header`. A name in `roles` wins; of several values the most powerful role.',
    ),
  })
  .meta({ shown: true });

export type OidcSettings = z.output<z.ZodObject<typeof oidcFields>>;
export type AdminOidcSettings = z.output<typeof adminOidcSchema>;
export type PortalOidcSettings = z.output<typeof portalOidcSchema>;
export type AdminProxySettings = z.output<typeof adminProxySchema>;

const passwordSchema = z
  .string()
  .min(12, 'must have at least 12 characters')
  .describe('The password itself, of at least 12 characters; usually `${NAME}` or `${file:PATH}`.');
const passwordHashSchema = z
  .string()
  .refine(isPasswordHash, 'must be what sluice hash-password prints: scrypt:N:r:p:SALT:KEY')
  .describe('What `sluice hash-password` prints.');

const role = roleSchema
  .default('admin')
  .describe(
    '`admin` may do everything. `operator` changes accounts and keys, but sees neither amounts of money nor the audit log. `viewer` sees everything and changes nothing.',
  );

const operatorSchema = z.union(
  [
    z.strictObject({ password: passwordSchema, role }),
    z.strictObject({ password_hash: passwordHashSchema, role }),
  ],
  'must be an object with password_hash or password, and a role: admin, operator or viewer',
);

/** Who may sign in to the dashboard, as it stands under `admin`. */
export const adminSignIn = {
  users: z
    .record(z.string().min(1).max(128), operatorSchema)
    .default({})
    .describe(
      'Who may sign in to the dashboard, by name: `{ password_hash }` as `sluice hash-password` prints it, or `{ password: "${NAME}" }` from the environment, with a `role`. Without these, `oidc` and `proxy` there is no dashboard.',
    ),
  oidc: adminOidcSchema
    .optional()
    .describe(
      'Sign-in by an OpenID provider, beside passwords (needs the package openid-client, to be installed beside sluice).',
    ),
  proxy: adminProxySchema
    .optional()
    .describe('Sign-in by a header of an authenticating proxy, beside the other ways.'),
  session_idle_ms: ms(1_800_000).describe(
    'A session at the dashboard ends when it has not been used for this time.',
  ),
  session_max_ms: ms(43_200_000).describe('A session at the dashboard ends after this time in any case.'),
  trust_proxy: off(
    'Believe the last `X-Forwarded-Proto` and `X-Forwarded-For`: only behind a proxy that sets both, and with no other way to this listener.',
  ),
};

export type AdminSignIn = z.output<z.ZodObject<typeof adminSignIn>>;

const account = z.string().min(1).meta({ shown: true }).describe('The id of the account that they see.');

const customerSchema = z.union(
  [
    z.strictObject({ password: passwordSchema, account }),
    z.strictObject({ password_hash: passwordHashSchema, account }),
  ],
  'must be an object with password_hash or password, and the account',
);

export const portalSchema = z.strictObject({
  enabled: off(
    'Serve the portal, where customers see their own account and issue its keys: below `path` of the public listener, or as `gateway.portal` in an application.',
  ),
  path: z
    .string()
    .max(128)
    .regex(/^(\/[\w.~-]*[\w~-])+$/, 'must be a path such as /portal, without a slash at its end')
    .meta({ shown: true })
    .default('/portal')
    .describe(
      'Where the portal is: on the public listener, or where the application has mounted it. Paths of the API win.',
    ),
  users: z
    .record(z.string().min(1).max(128), customerSchema)
    .default({})
    .describe(
      'Who may sign in, by name, beside those who are invited in the dashboard: `{ password_hash, account }`, or `{ password: "${NAME}", account }`.',
    ),
  oidc: portalOidcSchema
    .optional()
    .describe(
      'Sign-in by an OpenID provider, beside passwords (needs the package openid-client, to be installed beside sluice).',
    ),
  session_idle_ms: ms(1_800_000).describe(
    'A session at the portal ends when it has not been used for this time.',
  ),
  session_max_ms: ms(43_200_000).describe('A session at the portal ends after this time in any case.'),
  max_keys: z
    .int()
    .positive()
    .default(20)
    .describe(
      'Keys of an account that work at the same time, beside those of the configuration; above it customers issue none.',
    ),
  trust_proxy: off(
    'Believe the last `X-Forwarded-Proto` and `X-Forwarded-For`: only behind a proxy that sets both, and with no other way to this listener.',
  ),
});

export type PortalSettings = z.output<typeof portalSchema>;
