import { resolve } from 'node:path';
import { z } from 'zod';
import { recordsSchema, targetOf } from '../../plugins/stores/records/records-target.ts';
import type { ConfigIssue } from '../common/config-error.ts';
import { asObject } from '../common/json-object.ts';
import { limitOverridesSchema, plansSchema } from '../gateway/limits/plan-limits.ts';
import { expandPart } from './checked-part.ts';
import type { Environment } from './environment.ts';
import { readConfig } from './read-config.ts';

/** The parts of a configuration for commands about keys, accounts and usage. */
export type CommandSettings = ReturnType<typeof loadCommandSettings>;

const schema = z.object({
  stores: z.object({ records: recordsSchema }).prefault({}),
  plans: plansSchema.default({}),
  accounts: z
    .record(z.string(), z.object({ plan: z.string().optional(), limits: limitOverridesSchema.default({}) }))
    .default({}),
  models: z.array(z.object({ id: z.string() })).default([]),
});

/**
 * Reads only what is needed: issuing keys needs neither the keys of providers and accounts in the environment nor any stage. Throws a
 * ConfigError.
 */
export function loadCommandSettings(file: string, environment: Environment = process.env) {
  const written = readConfig(file);
  const { stores = {}, plans = {}, accounts = {}, models = [] } = asObject(written.value);
  const part = expandPart(written, environment, { stores, plans, accounts, models });
  const data = part.check(schema);
  const issues = part.issues.filter(isNeeded);
  if (issues.length > 0 || !data) throw part.error(issues);
  return {
    target: targetOf(data.stores.records, written.directory)!,
    /** The names that an account's plan can have. */
    plans: Object.keys(data.plans),
    /** The accounts of the configuration: their names are taken, and their plans and limits stand there. */
    configured: Object.entries(data.accounts).map(([id, { plan, limits }]) => ({ id, plan, limits })),
    models: data.models.map(({ id }) => id),
  };
}

/** A variable of a key, or of anything of a model but its id, need not be set. */
const isNeeded = ({ path: [section, , field] }: ConfigIssue): boolean =>
  section === 'accounts' ? field !== 'keys' : section !== 'models' || field === undefined || field === 'id';

const adminSchema = z.object({ socket: z.string().optional() }).default({});

/** The path of `admin.socket`; undefined without one. Reads nothing else, whatever mistakes there are. Throws a ConfigError. */
export function adminSocketOf(file: string, environment: Environment = process.env): string | undefined {
  const written = readConfig(file);
  const { socket } = asObject(asObject(written.value).admin);
  const part = expandPart(written, environment, { socket }, ['admin']);
  const data = part.check(adminSchema);
  if (part.issues.length > 0 || !data) throw part.error(part.issues);
  return data.socket === undefined ? undefined : resolve(written.directory, data.socket);
}
