import { z } from 'zod';
import {
  checkedKeyChange,
  checkKey,
  day_ms,
  type KeyRecord,
  keyLimitsSchema,
  keyTagsSchema,
  max_key_name,
  NotThere,
} from '../../../src/plugin.ts';
import { apiError } from '../api-error.ts';
import { etagOf } from '../entity-tag.ts';
import { endOf, givenModels, givenTime, shownLimits, time, timeOf, timeOrNull } from '../fields.ts';
import { listOf, pageFields, pageOf } from '../page-of.ts';
import { type Caller, defineRoute, type Reply } from '../route.ts';
import { limitsBy, limitsFor } from '../visible-limits.ts';

const key = z
  .object({
    object: z.literal('key'),
    id: z.string(),
    account: z.string(),
    name: z.string(),
    hint: z.string().describe('The last characters of its text.'),
    limits: shownLimits,
    models: z
      .array(z.string())
      .nullable()
      .describe('The models that it may use, of those that its account may; `null` for all of those.'),
    tags: z.record(z.string(), z.string()).describe('What its usage can be grouped by.'),
    created_at: time,
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
    last_used_at: time.nullable().describe('To within half a minute.'),
  })
  .meta({ id: 'Key' });

const madeKey = key
  .extend({ key: z.string().describe('Its text, which is given this once: only its SHA-256 is kept.') })
  .meta({ id: 'MadeKey' });

const params = z.strictObject({ key: z.string().describe('Its id, `key_…`.') });

const fields = {
  name: z.string().max(max_key_name).describe('Who or what uses it.'),
  limits: keyLimitsSchema.describe(
    'Limits beside those of its account, all of them. Amounts of money that the caller does not see stay.',
  ),
  models: givenModels.describe(
    'The models that it may use, of those that its account may: ids, or `openai/*` for all that begin like that; `null` for all of those.',
  ),
  tags: keyTagsSchema.describe(
    'What its usage can be grouped by, of what the configuration lists; all of them.',
  ),
  expires_at: givenTime.nullable().describe('When it ends; `null` for never.'),
};

type View = z.input<typeof key>;

function viewFor(caller: Caller, record: KeyRecord): View {
  const { id, account, name, hint, limits, models, tags, created_ms, expires_ms, revoked_ms, last_used_ms } =
    record;
  return {
    object: 'key',
    id,
    account,
    name,
    hint,
    limits: limitsFor(caller, limits),
    models: models && [...models],
    tags: { ...tags },
    created_at: timeOf(created_ms),
    expires_at: timeOrNull(expires_ms),
    revoked_at: timeOrNull(revoked_ms),
    last_used_at: timeOrNull(last_used_ms),
  };
}

/** A use changes nothing that others could overwrite. */
const tagOf = (record: KeyRecord): string => etagOf({ ...record, last_used_ms: null });

const replyFor = (caller: Caller, record: KeyRecord): Reply<View> => ({
  body: viewFor(caller, record),
  etag: tagOf(record),
});

const listKeys = defineRoute({
  method: 'GET',
  path: '/keys',
  name: 'listKeys',
  summary: 'List the keys of the records store, the newest first',
  permission: 'read',
  query: z.strictObject({
    ...pageFields,
    account: z.string().max(200).optional().describe('Only keys of this account.'),
    search: z.string().max(200).optional().describe('A part of the id, name, account or hint, in any case.'),
    all: z.stringbool().default(false).describe('Whether revoked and expired keys are listed as well.'),
  }),
  reply: listOf(key),
  async handler({ query: { account, search, all, ...page }, caller, context }) {
    const usable_at_ms = all ? undefined : context.clock.epoch_ms();
    const { keys } = context.records.store;
    const read = (edges: { readonly limit: number }) =>
      keys.list({ account, search, usable_at_ms, ...edges });
    return { body: await pageOf(page, read, record => viewFor(caller, record)) };
  },
});

const getKey = defineRoute({
  method: 'GET',
  path: '/keys/{key}',
  name: 'getKey',
  summary: 'Read a key',
  permission: 'read',
  params,
  reply: key,
  async handler({ params: { key: id }, caller, context }) {
    const found = await context.records.store.keys.find(id);
    if (!found) throw new NotThere(`there is no key '${id}'`);
    return replyFor(caller, found);
  },
});

const createKey = defineRoute({
  method: 'POST',
  path: '/keys',
  name: 'createKey',
  summary: 'Make a key for an account',
  permission: 'change',
  once: true,
  body: z.strictObject({
    account: z.string().max(200).describe('An account of the records store or of the configuration.'),
    name: fields.name.default(''),
    limits: fields.limits.default({}),
    models: fields.models.default(null),
    tags: fields.tags.default({}),
    expires_at: fields.expires_at.default(null),
  }),
  reply: madeKey,
  status: 201,
  async handler({ body: { expires_at, ...given }, caller, context, operator }) {
    const expires_ms = endOf(expires_at, operator.at_ms);
    const wanted = { ...given, expires_ms, limits: limitsBy(caller, given.limits) };
    checkKey(context, wanted, operator.at_ms);
    const { store } = context.records;
    if (!context.configured.findById(wanted.account) && !(await store.accounts.find(wanted.account)))
      throw apiError('invalid_request', {
        message: `There is no account '${wanted.account}'.`,
        param: 'account',
      });
    const { key: text, record } = await store.keys.create(wanted, operator);
    return { body: { ...viewFor(caller, record), key: text }, etag: tagOf(record) };
  },
});

const changeKey = defineRoute({
  method: 'PATCH',
  path: '/keys/{key}',
  name: 'changeKey',
  summary: 'Change what is given of a key that can be used, and leave the rest',
  permission: 'change',
  if_match: true,
  params,
  body: z.strictObject({
    name: fields.name.exactOptional(),
    limits: fields.limits.exactOptional(),
    models: fields.models.exactOptional(),
    tags: fields.tags.exactOptional(),
    expires_at: fields.expires_at.exactOptional(),
  }),
  reply: key,
  async handler({ params: { key: id }, body, caller, context, operator, checkMatch }) {
    const { limits, expires_at, ...named } = body;
    const changeOf = (now: KeyRecord) => {
      checkMatch(tagOf(now));
      return {
        ...named,
        ...(expires_at !== undefined && { expires_ms: endOf(expires_at, operator.at_ms) }),
        ...(limits && { limits: limitsBy(caller, limits, now.limits) }),
      };
    };
    const change = checkedKeyChange(context, changeOf, operator.at_ms);
    return replyFor(caller, await context.records.store.keys.change(id, change, operator));
  },
});

const rotateKey = defineRoute({
  method: 'POST',
  path: '/keys/{key}/rotate',
  name: 'rotateKey',
  summary: 'Make a key that replaces another, with its account, name, limits and lifetime',
  permission: 'change',
  once: true,
  if_match: true,
  params,
  body: z.strictObject({
    overlap_ms: z
      .int()
      .min(0)
      .max(90 * day_ms)
      .default(day_ms)
      .describe('For how long the old key goes on working, if it does not end earlier.'),
  }),
  reply: madeKey.extend({ replaced: key }).meta({ id: 'RotatedKey' }),
  status: 201,
  async handler({ params: { key: id }, body, caller, context, operator, checkMatch }) {
    const check = (now: KeyRecord) => checkMatch(tagOf(now));
    const { keys } = context.records.store;
    const { key: text, record, old } = await keys.rotate(id, body.overlap_ms, operator, { check });
    const replaced = viewFor(caller, old);
    return { body: { ...viewFor(caller, record), key: text, replaced }, etag: tagOf(record) };
  },
});

const revokeKey = defineRoute({
  method: 'POST',
  path: '/keys/{key}/revoke',
  name: 'revokeKey',
  summary: 'End a key for good; every instance refuses it within 5 seconds',
  permission: 'change',
  if_match: true,
  params,
  reply: key,
  async handler({ params: { key: id }, caller, context, operator, checkMatch }) {
    const check = (now: KeyRecord) => checkMatch(tagOf(now));
    return replyFor(caller, await context.records.store.keys.revoke(id, operator, check));
  },
});

/** Keys. */
export const keyRoutes = [listKeys, getKey, createKey, changeKey, rotateKey, revokeKey];
