import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, type ConfigIssue, issuesOf } from '../diagnostics/config-error.ts';
import { asObject, isObject } from '../json-object.ts';
import { limitOverridesSchema, plansSchema } from '../stores/limits/plan-limits.ts';
import { type RecordsTarget, recordsSchema, targetOf } from '../stores/records/records-target.ts';
import { expandVariables } from './environment.ts';
import { readConfigFile } from './read-file.ts';

/** What commands about keys, accounts and usage need of a configuration. */
export interface CommandSettings {
  readonly target: RecordsTarget;
  /** The names that an account's plan can have. */
  readonly plans: readonly string[];
  /** The accounts of the configuration: their names are taken, and their plans and limits stand there. */
  readonly configured: readonly ConfiguredAccount[];
  readonly models: readonly string[];
}

export interface ConfiguredAccount {
  readonly id: string;
  readonly plan: string | undefined;
  readonly limits: object;
}

const schema = z.object({
  stores: z.object({ records: recordsSchema }).prefault({}),
  plans: plansSchema.default({}),
  accounts: z
    .record(z.string(), z.object({ plan: z.string().optional(), limits: limitOverridesSchema.default({}) }))
    .default({}),
  models: z.array(z.object({ id: z.string() })).default([]),
});

/**
 * Reads what is needed, and only that: issuing keys does not need the providers' keys in the environment, and no stage is
 * loaded. Throws a ConfigError.
 */
export function loadCommandSettings(
  file: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CommandSettings {
  const { value, lineOf } = readConfigFile(file);
  const given = asObject(value);
  const issues: ConfigIssue[] = [];
  const read = expandVariables(withoutSecrets(given), environment, issues);
  const parsed = schema.safeParse(read);
  if (!parsed.success && issues.length === 0) issues.push(...issuesOf(parsed.error, schema, read));
  if (issues.length > 0 || !parsed.success)
    throw new ConfigError(
      file,
      issues.map(issue => ({ ...issue, line: lineOf(issue.path) })),
    );
  const { plans, accounts, models } = parsed.data;
  return {
    target: targetOf(parsed.data.stores.records, dirname(resolve(file)))!,
    plans: Object.keys(plans),
    configured: Object.entries(accounts).map(([id, { plan, limits }]) => ({ id, plan, limits })),
    models: models.map(({ id }) => id),
  };
}

/** What these commands look at: none of it needs the keys of providers and accounts, which may not be in the environment here. */
function withoutSecrets({ stores = {}, plans = {}, accounts = {}, models = [] }: Record<string, unknown>) {
  return {
    stores,
    plans,
    accounts: isObject(accounts)
      ? Object.fromEntries(
          Object.entries(accounts).map(([id, account]) => [
            id,
            isObject(account) ? { ...account, keys: [] } : account,
          ]),
        )
      : accounts,
    models: Array.isArray(models)
      ? models.map(model => (isObject(model) ? { id: model.id } : model))
      : models,
  };
}
