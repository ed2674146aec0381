import type { ExtensionSettings } from '../../../src/plugin.ts';

type Admin = ExtensionSettings['admin'];

/** `admin.oidc`, with what an operator may do. */
export type AdminOidcSettings = NonNullable<Admin['oidc']>;
/** `portal.oidc`, with whose account a customer sees. */
export type PortalOidcSettings = NonNullable<ExtensionSettings['portal']['oidc']>;
/** What both have. */
export type OidcSettings = Pick<AdminOidcSettings, keyof AdminOidcSettings & keyof PortalOidcSettings>;
/** `admin.proxy`. */
export type AdminProxySettings = NonNullable<Admin['proxy']>;
