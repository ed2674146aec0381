import { z } from 'zod';
import {
  type AdminKeyRecord,
  type AdminKeyRecords,
  type ExtensionContext,
  isAdminKeyName,
  NotThere,
  operatorRoles,
} from '../../../src/plugin.ts';
import { apiError } from '../api-error.ts';
import { endOf, givenTime, time, timeOf, timeOrNull } from '../fields.ts';
import { listOf, pageFields, pageOf } from '../page-of.ts';
import { defineRoute } from '../route.ts';

const adminKey = z
  .object({
    object: z.literal('admin_key'),
    id: z.string(),
    name: z.string(),
    role: z.enum(operatorRoles),
    hint: z.string().describe('The last characters of its text.'),
    created_at: time,
    expires_at: time.nullable(),
    revoked_at: time.nullable(),
    last_used_at: time.nullable().describe('To within a minute.'),
  })
  .meta({ id: 'AdminKey' });

const params = z.strictObject({ admin_key: z.string().describe('Its id, `admin_key_…`.') });

function viewOf(record: AdminKeyRecord): z.input<typeof adminKey> {
  const { id, name, role, hint, created_ms, expires_ms, revoked_ms, last_used_ms } = record;
  return {
    object: 'admin_key',
    id,
    name,
    role,
    hint,
    created_at: timeOf(created_ms),
    expires_at: timeOrNull(expires_ms),
    revoked_at: timeOrNull(revoked_ms),
    last_used_at: timeOrNull(last_used_ms),
  };
}

function adminKeysOf({ records }: ExtensionContext): AdminKeyRecords {
  if (records.store.adminKeys) return records.store.adminKeys;
  throw apiError('conflict', { message: 'This records store keeps no keys of the Admin API.' });
}

const listAdminKeys = defineRoute({
  method: 'GET',
  path: '/admin-keys',
  name: 'listAdminKeys',
  summary: 'List the keys of this API in the records store, the newest first',
  permission: 'administer',
  query: z.strictObject({
    ...pageFields,
    search: z.string().max(200).optional().describe('A part of the id or name, in any case.'),
    all: z.stringbool().default(false).describe('Whether revoked and expired keys are listed as well.'),
  }),
  reply: listOf(adminKey),
  async handler({ query: { search, all, ...page }, context }) {
    const usable_at_ms = all ? undefined : context.clock.epoch_ms();
    const keys = adminKeysOf(context);
    return { body: await pageOf(page, edges => keys.list({ search, usable_at_ms, ...edges }), viewOf) };
  },
});

const getAdminKey = defineRoute({
  method: 'GET',
  path: '/admin-keys/{admin_key}',
  name: 'getAdminKey',
  summary: 'Read a key of this API',
  permission: 'administer',
  params,
  reply: adminKey,
  async handler({ params: { admin_key: id }, context }) {
    const found = await adminKeysOf(context).find(id);
    if (!found) throw new NotThere(`there is no admin key '${id}'`);
    return { body: viewOf(found) };
  },
});

const createAdminKey = defineRoute({
  method: 'POST',
  path: '/admin-keys',
  name: 'createAdminKey',
  summary: 'Make a key of this API',
  permission: 'administer',
  once: true,
  body: z.strictObject({
    name: z
      .string()
      .refine(isAdminKeyName, 'must have 1 to 100 characters, none of them a control character')
      .describe('Who or what uses it: its name in the audit log. No other key in use may have it.'),
    role: z.enum(operatorRoles).describe('What it may do.'),
    expires_at: givenTime.nullable().default(null).describe('When it ends; `null` for never.'),
  }),
  reply: adminKey
    .extend({ key: z.string().describe('Its text, which is given this once: only its SHA-256 is kept.') })
    .meta({ id: 'MadeAdminKey' }),
  status: 201,
  async handler({ body: { name, role, expires_at }, context, operator }) {
    const expires_ms = endOf(expires_at, operator.at_ms);
    const { key, record } = await adminKeysOf(context).create({ name, role, expires_ms }, operator);
    return { body: { ...viewOf(record), key } };
  },
});

const revokeAdminKey = defineRoute({
  method: 'POST',
  path: '/admin-keys/{admin_key}/revoke',
  name: 'revokeAdminKey',
  summary: 'End a key of this API for good',
  permission: 'administer',
  params,
  reply: adminKey,
  async handler({ params: { admin_key: id }, context, operator }) {
    return { body: viewOf(await adminKeysOf(context).revoke(id, operator)) };
  },
});

/** Keys of the API itself. */
export const adminKeyRoutes = [listAdminKeys, getAdminKey, createAdminKey, revokeAdminKey];
