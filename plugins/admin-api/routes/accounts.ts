import { z } from 'zod';
import { type AccountRecord, withoutMoney } from '../../../src/plugin.ts';
import { listOf, pageFields, pageOf } from '../page-of.ts';
import { seesMoney } from '../permissions.ts';
import { type Caller, defineRoute } from '../route.ts';

const account = z
  .object({
    object: z.literal('account'),
    id: z.string(),
    plan: z.string().nullable(),
    limits: z.record(z.string(), z.unknown()),
    display_name: z.string(),
    parent: z.string().nullable(),
    created_at: z.iso.datetime(),
    disabled_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Account' });

const timeOf = (at_ms: number | null): string | null =>
  at_ms === null ? null : new Date(at_ms).toISOString();

/** An account as `caller` may see it. */
const viewFor =
  ({ role }: Caller) =>
  ({ id, plan, limits, display_name, parent, created_ms, disabled_ms }: AccountRecord) => ({
    object: 'account' as const,
    id,
    plan,
    limits: seesMoney(role) ? limits : withoutMoney(limits),
    display_name,
    parent,
    created_at: timeOf(created_ms)!,
    disabled_at: timeOf(disabled_ms),
  });

const listAccounts = defineRoute({
  method: 'GET',
  path: '/accounts',
  name: 'listAccounts',
  summary: 'List accounts of the records store, by id',
  permission: 'read',
  query: z.strictObject({
    ...pageFields,
    search: z.string().max(200).optional().describe('A part of the id or the display name, in any case.'),
    plan: z.string().max(200).optional().describe('Only accounts with this plan.'),
  }),
  reply: listOf(account),
  async handler({ query: { search, plan, ...page }, caller, context }) {
    const { accounts } = context.records.store;
    return { body: await pageOf(page, edges => accounts.list({ search, plan, ...edges }), viewFor(caller)) };
  },
});

/** Accounts. */
export const accountRoutes = [listAccounts];
