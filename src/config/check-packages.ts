import type { ConfigIssue } from '../common/config-error.ts';
import { missingPackage } from '../common/missing-package.ts';

/** An optional package, and the option that needs it. */
export interface NeededPackage {
  readonly name: string | undefined;
  readonly path: ConfigIssue['path'];
}

/** Reports options that need a package which cannot be loaded, each with what to install. */
export async function checkPackages(packages: readonly NeededPackage[]): Promise<ConfigIssue[]> {
  const issues: ConfigIssue[] = [];
  for (const { name, path } of packages)
    if (name !== undefined)
      await import(name).catch(cause => issues.push({ path, message: missingPackage(name, cause) }));
  return issues;
}
