import type { ConfigIssue } from '../common/config-error.ts';
import { missingPackage } from '../common/missing-package.ts';
import type { GivenPlugins } from './given-plugins.ts';
import type { CheckedConfig } from './schema.ts';

/** An optional package, and what needs it. */
interface OptionalPackage {
  readonly name: string;
  readonly load: () => Promise<unknown>;
  /** The option that needs it in this configuration, if any does. */
  readonly neededBy: (config: CheckedConfig, given: GivenPlugins) => ConfigIssue['path'] | undefined;
}

const optionalPackages: readonly OptionalPackage[] = [
  {
    name: 'pg',
    load: () => import('pg'),
    neededBy: ({ stores }) => (stores.records.startsWith('postgres') ? ['stores', 'records'] : undefined),
  },
  {
    name: '@redis/client',
    load: () => import('@redis/client'),
    neededBy: ({ stores }, { state }) =>
      stores.state === 'memory' || state ? undefined : ['stores', 'state'],
  },
  {
    name: 'openid-client',
    load: () => import('openid-client'),
    neededBy({ admin, portal }) {
      if (admin.oidc) return ['admin', 'oidc'];
      return portal.oidc && ['portal', 'oidc'];
    },
  },
];

/** Reports options that need a package which cannot be loaded, each with what to install. */
export async function checkPackages(config: CheckedConfig, given: GivenPlugins): Promise<ConfigIssue[]> {
  const issues: ConfigIssue[] = [];
  for (const { name, load, neededBy } of optionalPackages) {
    const path = neededBy(config, given);
    if (path) await load().catch(cause => issues.push({ path, message: missingPackage(name, cause) }));
  }
  return issues;
}
