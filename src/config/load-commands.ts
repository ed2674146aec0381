import { resolve } from 'node:path';
import { z } from 'zod';
import type { ConfigIssue } from '../common/config-error.ts';
import { asObject } from '../common/json-object.ts';
import { limitOverridesSchema, plansSchema } from '../gateway/limits/plan-limits.ts';
import { allowedTagsSchema, keyTagsSchema } from '../records/key-tags.ts';
import { expandPart } from './checked-part.ts';
import type { Environment } from './environment.ts';
import { default_load_ms } from './import-plugin.ts';
import { readConfig } from './read-config.ts';
import { loadStorePlugins, RecordsPlaces } from './records-places.ts';

/** The parts of a configuration for commands about keys, accounts and usage. */
export type CommandSettings = Awaited<ReturnType<typeof loadCommandSettings>>;

const schema = z.object({
  stores: z
    .object({ records: z.string().default('memory'), plugins: z.array(z.string()).default([]) })
    .prefault({}),
  plans: plansSchema.default({}),
  accounts: z
    .record(
      z.string(),
      z.object({
        plan: z.string().optional(),
        limits: limitOverridesSchema.default({}),
        keys: z.array(z.object({ name: z.string().optional(), tags: keyTagsSchema.optional() })).catch([]),
      }),
    )
    .default({}),
  tags: allowedTagsSchema.default({}),
  models: z.array(z.object({ id: z.string() })).default([]),
});

/**
 * Reads only what is needed: issuing keys needs neither the keys of providers and accounts in the environment nor any stage. Throws a
 * ConfigError.
 */
export async function loadCommandSettings(file: string, environment: Environment = process.env) {
  const written = readConfig(file);
  const all = asObject(written.value);
  const { stores: storesWritten = {}, plans = {}, accounts = {}, models = [], tags = {} } = all;
  const part = expandPart(written, environment, { stores: storesWritten, plans, accounts, models, tags });
  const data = part.check(schema);
  const place = { directory: written.directory, load_ms: default_load_ms };
  const plugins = { entries: data?.stores.plugins, path: ['stores', 'plugins'], place };
  const stores = new RecordsPlaces(await loadStorePlugins([plugins], part.issues), part.issues);
  const records = data && stores.recordsAt(data.stores.records, written.directory);
  const issues = part.issues.filter(isNeeded);
  if (issues.length > 0 || !data || !records) throw part.error(issues);
  return {
    place: records,
    plans: data.plans,
    /** The accounts of the configuration: their names are taken, and their plans and limits stand there. */
    accounts: data.accounts,
    /** Tags that keys may have. */
    tags: data.tags,
    models: data.models,
    providers: Object.keys(asObject(all.providers)),
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
