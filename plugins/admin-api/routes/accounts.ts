import { z } from 'zod';
import {
  type AccountRecord,
  checkedAccountChange,
  checkIsStored,
  checkNewAccount,
  checkParent,
  creditOf,
  type ExtensionContext,
  limitOverridesSchema,
  max_contacts,
  max_display_name,
  max_reason,
  NotThere,
} from '../../../src/plugin.ts';
import { etagOf } from '../entity-tag.ts';
import { givenModels, shownLimits, time, timeOf, timeOrNull } from '../fields.ts';
import { listOf, pageFields, pageOf } from '../page-of.ts';
import { type Caller, defineRoute, type Reply } from '../route.ts';
import { limitsBy, limitsFor } from '../visible-limits.ts';

const account = z
  .object({
    object: z.literal('account'),
    id: z.string(),
    source: z
      .enum(['store', 'configuration'])
      .describe('Where it is kept; one of the configuration is changed there.'),
    plan: z.string().nullable(),
    limits: shownLimits,
    display_name: z.string(),
    contacts: z.array(z.string()).describe('Mail addresses of its people.'),
    parent: z.string().nullable().describe('The account whose limits hold for it as well.'),
    models: z.array(z.string()).nullable().describe('The models that it may use; `null` for all.'),
    created_at: time.nullable().describe('`null` for one of the configuration.'),
    disabled_at: time.nullable(),
  })
  .meta({ id: 'Account' });

const params = z.strictObject({ account: z.string().describe('Its id.') });

const fields = {
  plan: z.string().max(200).nullable().describe('A plan of the configuration; `null` for none.'),
  limits: limitOverridesSchema.describe(
    "All limits of its own, each in place of the plan's of that name; `null` lifts one. Amounts of money that the caller does not see stay.",
  ),
  display_name: z.string().max(max_display_name).describe('Shown beside the id; empty for none.'),
  contacts: z
    .array(z.string().max(254))
    .max(max_contacts)
    .describe('Mail addresses of its people, who are told of its limits.'),
  parent: z
    .string()
    .max(200)
    .nullable()
    .describe('The account whose limits hold for it as well; `null` for none.'),
  models: givenModels.describe(
    'The models that it may use: ids, or `openai/*` for all that begin like that; `null` for all.',
  ),
};

type View = z.input<typeof account>;

/** An account of the store as `caller` may see it. */
function viewFor(caller: Caller, record: AccountRecord): View {
  const { id, plan, limits, display_name, contacts, parent, models, created_ms, disabled_ms } = record;
  return {
    object: 'account',
    id,
    source: 'store',
    plan,
    limits: limitsFor(caller, limits),
    display_name,
    contacts: [...contacts],
    parent,
    models: models && [...models],
    created_at: timeOf(created_ms),
    disabled_at: timeOrNull(disabled_ms),
  };
}

const replyFor = (caller: Caller, record: AccountRecord): Reply<View> => ({
  body: viewFor(caller, record),
  etag: etagOf(record),
});

/** An account of the configuration. */
function configuredFor(caller: Caller, { settings }: ExtensionContext, id: string): View | undefined {
  if (!Object.hasOwn(settings.accounts, id)) return undefined;
  const { plan = null, limits = {}, contacts = [], parent = null, models = null } = settings.accounts[id]!;
  const view = { object: 'account', source: 'configuration', id, plan, contacts, parent, models } as const;
  const none = { display_name: '', created_at: null, disabled_at: null };
  return { ...view, limits: limitsFor(caller, limits), ...none };
}

const listAccounts = defineRoute({
  method: 'GET',
  path: '/accounts',
  name: 'listAccounts',
  summary: 'List the accounts of the records store, by id',
  permission: 'read',
  query: z.strictObject({
    ...pageFields,
    search: z.string().max(200).optional().describe('A part of the id or the display name, in any case.'),
    plan: z.string().max(200).optional().describe('Only accounts with this plan.'),
  }),
  reply: listOf(account),
  async handler({ query: { search, plan, ...page }, caller, context }) {
    const { accounts } = context.records.store;
    const read = (edges: { readonly limit: number }) => accounts.list({ search, plan, ...edges });
    return { body: await pageOf(page, read, record => viewFor(caller, record)) };
  },
});

const getAccount = defineRoute({
  method: 'GET',
  path: '/accounts/{account}',
  name: 'getAccount',
  summary: 'Read an account, of the records store or of the configuration',
  permission: 'read',
  params,
  reply: account,
  async handler({ params: { account: id }, caller, context }) {
    const configured = configuredFor(caller, context, id);
    if (configured) return { body: configured, etag: etagOf(context.settings.accounts[id]!) };
    const found = await context.records.store.accounts.find(id);
    if (!found) throw new NotThere(`there is no account '${id}'`);
    return replyFor(caller, found);
  },
});

const createAccount = defineRoute({
  method: 'POST',
  path: '/accounts',
  name: 'createAccount',
  summary: 'Create an account',
  permission: 'change',
  once: true,
  body: z.strictObject({
    id: z
      .string()
      .max(128)
      .describe('Letters, digits and `_ . @ : + -`, at most 128; no other account may have it in any case.'),
    plan: fields.plan.default(null),
    limits: fields.limits.default({}),
    display_name: fields.display_name.default(''),
    contacts: fields.contacts.default([]),
    parent: fields.parent.default(null),
    models: fields.models.default(null),
  }),
  reply: account,
  status: 201,
  async handler({ body, caller, context, operator }) {
    const wanted = { ...body, limits: limitsBy(caller, body.limits) };
    const { accounts } = context.records.store;
    checkNewAccount(context, wanted);
    await checkParent(context, accounts, wanted.parent);
    return replyFor(caller, await accounts.create(wanted, operator));
  },
});

const changeAccount = defineRoute({
  method: 'PATCH',
  path: '/accounts/{account}',
  name: 'changeAccount',
  summary: 'Change what is given of an account, and leave the rest',
  permission: 'change',
  if_match: true,
  params,
  body: z.strictObject({
    plan: fields.plan.exactOptional(),
    limits: fields.limits.exactOptional(),
    display_name: fields.display_name.exactOptional(),
    contacts: fields.contacts.exactOptional(),
    parent: fields.parent.exactOptional(),
    models: fields.models.exactOptional(),
  }),
  reply: account,
  async handler({ params: { account: id }, body, caller, context, operator, checkMatch }) {
    checkIsStored(context, id);
    const { limits, ...set } = body;
    const { accounts } = context.records.store;
    await checkParent(context, accounts, set.parent);
    const changeOf = (now: AccountRecord) => {
      checkMatch(etagOf(now));
      return limits ? { ...set, limits: limitsBy(caller, limits, now.limits) } : set;
    };
    const change = checkedAccountChange(context, changeOf);
    return replyFor(caller, await accounts.change(id, change, operator));
  },
});

const switching = (what: 'disable' | 'enable', summary: string) =>
  defineRoute({
    method: 'POST',
    path: `/accounts/{account}/${what}`,
    name: `${what}Account`,
    summary,
    permission: 'change',
    if_match: true,
    params,
    reply: account,
    async handler({ params: { account: id }, caller, context, operator, checkMatch }) {
      checkIsStored(context, id);
      const { accounts } = context.records.store;
      return replyFor(caller, await accounts[what](id, operator, now => checkMatch(etagOf(now))));
    },
  });

const addCredit = defineRoute({
  method: 'POST',
  path: '/accounts/{account}/credit',
  name: 'addCredit',
  summary: 'Add prepaid credit to an account: dollars on top of its `usd_total`',
  permission: 'administer',
  once: true,
  params,
  body: z.strictObject({
    amount_usd: z
      .string()
      .max(30)
      .describe('Dollars above 0 with at most 9 decimal places, such as `"25.00"`.'),
    reason: z.string().max(max_reason).optional().describe('Why, for the audit log.'),
  }),
  reply: account,
  async handler({ params: { account: id }, body, caller, context, operator }) {
    checkIsStored(context, id);
    const credit = creditOf(context, body.amount_usd, body.reason);
    return replyFor(caller, await context.records.store.accounts.topUp(id, credit, operator));
  },
});

/** Accounts. */
export const accountRoutes = [
  listAccounts,
  getAccount,
  createAccount,
  changeAccount,
  switching('disable', 'Refuse all requests of an account'),
  switching('enable', 'Admit the requests of an account again'),
  addCredit,
];
