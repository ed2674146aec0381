import type { ConfigIssue } from '../common/config-error.ts';
import { missingPackage } from '../common/missing-package.ts';
import type { RecordsPlace } from '../records/define-records-store.ts';
import type { StatePlace } from '../records/define-state-store.ts';
import type { CheckedConfig } from './schema.ts';

/** The places of a configuration, as far as it names them. */
export interface StorePlaces {
  readonly records: RecordsPlace | undefined;
  /** Undefined for memory, and for a store that the application has given. */
  readonly state: StatePlace | undefined;
}

/** Reports options that need a package which cannot be loaded, each with what to install. */
export async function checkPackages(
  { admin, portal, notices }: CheckedConfig,
  { records, state }: StorePlaces,
): Promise<ConfigIssue[]> {
  const openid = [admin, portal].findIndex(({ oidc }) => oidc !== undefined);
  const needed = [
    { name: records?.needs, path: ['stores', 'records'] },
    { name: state?.needs, path: ['stores', 'state'] },
    { name: openid === -1 ? undefined : 'openid-client', path: [openid === 0 ? 'admin' : 'portal', 'oidc'] },
    // Its section is gone with the folder of its plugin.
    { name: notices?.mail && 'nodemailer', path: ['notices', 'mail'] },
  ];
  const issues: ConfigIssue[] = [];
  for (const { name, path } of needed)
    if (name !== undefined)
      await import(name).catch(cause => issues.push({ path, message: missingPackage(name, cause) }));
  return issues;
}
