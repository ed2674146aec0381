import { z } from 'zod';
import {
  day_ms,
  dayOf,
  GatewayError,
  isDay,
  isMoneyLimit,
  isOutage,
  isTagGroup,
  type LimitState,
  limitedAccount,
  limitedKey,
  limitStates,
  no_model as none,
  sumByTags,
  type TaggedQuery,
  type TaggedSum,
  totalOf,
  type UsageGroup,
  type UsageSum,
  usageGroups,
} from '../../../src/plugin.ts';
import { apiError } from '../api-error.ts';
import { time } from '../fields.ts';
import { seesMoney } from '../permissions.ts';
import { type Caller, defineRoute } from '../route.ts';

/** Days of one answer. */
const max_days = 3660;

const text = z.string().min(1).max(300);
const day = z.string().refine(isDay, 'must be a day in UTC, such as 2026-11-20').meta({ format: 'date' });
const count = z.number().int();
const usd = z.string().describe('US dollars as an exact decimal; left out for those who see no money.');

const totals = z
  .object({
    requests: count,
    failed_requests: count,
    provider_failed: count,
    gateway_failed: count,
    refusal: count,
    client_error: count,
    estimated_requests: count,
    prompt_tokens: count,
    cached_tokens: count,
    completion_tokens: count,
    reasoning_tokens: count,
    cost_usd: usd.optional(),
    paid_requests: count.optional(),
    paid_usd: usd.optional(),
    margin_usd: usd.optional(),
  })
  .meta({ id: 'UsageTotals' });

const line = z
  .object(
    Object.fromEntries(usageGroups.map(group => [group, z.string().nullable().optional()])) as Record<
      UsageGroup,
      z.ZodOptional<z.ZodNullable<z.ZodString>>
    >,
  )
  .extend({
    tags: z.record(z.string(), z.string().nullable()).optional().describe('Those that it is grouped by.'),
    ...totals.shape,
  })
  .meta({ id: 'UsageLine' });

/** What of sums `caller` may see: money not for operators, and what providers are paid for admins alone. */
const viewFor =
  ({ role }: Caller) =>
  (sums: readonly UsageSum[]) => {
    const { cost_usd, paid_requests, paid_usd, margin_usd, ...counts } = totalOf(sums);
    const paid = paid_requests === undefined ? {} : { paid_requests, paid_usd, margin_usd };
    return { ...counts, ...(seesMoney(role) && { cost_usd }), ...(role === 'admin' && paid) };
  };

const group = `(${usageGroups.join('|')}|tag:[a-z][a-z0-9_-]{0,31})`;
const groupsForm = new RegExp(`^${group}(,${group}){0,19}$`);

/** Sums by key that are read for those by tags. */
const max_sums = 50_000;

function groupsOf(by: TaggedQuery['by'], sum: TaggedSum) {
  const groups = by.filter(group => !isTagGroup(group)).map(group => [group, sum[group] || null] as const);
  const tags = by.filter(isTagGroup).map(tag => [tag.slice(4), sum[tag] || null] as const);
  return {
    ...Object.fromEntries(groups),
    ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
  };
}

const sumUsage = defineRoute({
  method: 'GET',
  path: '/usage',
  name: 'sumUsage',
  summary: 'Sum up what was used, by any groups',
  permission: 'read',
  query: z.strictObject({
    by: z
      .string()
      .regex(groupsForm, `must be groups divided by commas, among ${usageGroups.join(', ')}, tag:NAME`)
      .optional()
      .describe(
        `Groups divided by commas, among ${usageGroups.join(', ')}, and \`tag:NAME\` for tags of keys. Without it there is the total alone.`,
      ),
    from: day.optional().describe('The first day in UTC; that of the current month if not given.'),
    to: day.optional().describe('The last day; today if not given.'),
    account: text.optional().describe('Usage of this account.'),
    model: text.optional().describe(`Usage of this model, or \`${none}\`.`),
    provider: text.optional().describe(`Usage at this provider, or \`${none}\`.`),
    key: text.optional().describe(`Usage of this key of the store, or \`${none}\`.`),
    order: z
      .enum(['group', 'cost', 'tokens', 'requests'])
      .default('group')
      .describe('By group, or the largest first.'),
    limit: z.coerce.number().int().min(1).max(10_000).default(1000).describe('Lines of the answer.'),
  }),
  reply: z.object({
    object: z.literal('list'),
    from: z.string(),
    to: z.string(),
    data: z.array(line).describe('A line for each combination of groups. `null` for requests without one.'),
    total: totals,
    has_more: z.boolean().describe('True if there are more lines than `limit`; the total has them all.'),
  }),
  async handler({ query, caller, context }) {
    const { by: groups, from, to, account, model, provider, key, order, limit } = query;
    if (order === 'cost' && !seesMoney(caller.role)) throw apiError('permission_denied');
    const today = dayOf(context.clock.epoch_ms());
    const from_day = from ?? `${today.slice(0, 8)}01`;
    const to_day = to ?? [from_day, today].sort()[1]!;
    const days = (Date.parse(to_day) - Date.parse(from_day)) / day_ms;
    if (days < 0 || days >= max_days)
      throw apiError('invalid_request', {
        message: `from must not be after to, nor ${max_days} days before it.`,
        param: 'from',
      });
    const named = (name: string | undefined) => (name === none ? '' : name);
    const filters = { account, model: named(model), provider: named(provider), key: named(key) };
    const asked = { from_day, to_day, ...filters };
    const by = [...new Set((groups?.split(',') ?? []) as TaggedQuery['by'][number][])];
    const { store } = context.records;
    const [rows, total] = await Promise.all([
      by.length === 0
        ? []
        : sumByTags(
            { store, settings: context.settings },
            { ...asked, by, order, limit: limit + 1 },
            max_sums,
          ),
      store.usage.sum({ ...asked, by: [] }),
    ]);
    const viewOf = viewFor(caller);
    return {
      body: {
        object: 'list' as const,
        from: from_day,
        to: to_day,
        data: rows.slice(0, limit).map(row => ({ ...groupsOf(by, row), ...viewOf([row]) })),
        total: viewOf(total),
        has_more: rows.length > limit,
      },
    };
  },
});

const limitState = z
  .object({
    name: z.string(),
    model: z.string().optional(),
    key: z.string().optional().describe('The key that it limits; absent for the whole account.'),
    inherited: z.literal(true).optional().describe('Set if it is a limit of an account above.'),
    soft: z.literal(true).optional().describe('Set if it refuses nothing.'),
    raised_until: time.optional().describe('Until when `max` is a raised one.'),
    max: z.union([z.number(), z.string()]).describe('Dollars as an exact decimal string.'),
    used: z.union([z.number(), z.string()]),
    remaining: z.union([z.number(), z.string()]),
    resets_at: time
      .nullable()
      .describe('When the period ends; `null` for concurrency and in total, and in minutes without use.'),
  })
  .meta({ id: 'LimitState' });

const limitList = z.object({ object: z.literal('list'), data: z.array(limitState) });

/** The use of limits, without those in dollars for those who see no money. */
async function limitsFor({ role }: Caller, states: Promise<readonly LimitState[]>) {
  const all = await states.catch(thrown => {
    throw isOutage(thrown) || GatewayError.is(thrown) ? apiError('state_unavailable', retryAfter) : thrown;
  });
  const data = all.filter(({ name }) => seesMoney(role) || !isMoneyLimit(name));
  return { body: { object: 'list' as const, data } };
}

const retryAfter = { headers: { 'retry-after': '1' } };

const accountLimits = defineRoute({
  method: 'GET',
  path: '/accounts/{account}/limits',
  name: 'listAccountLimits',
  summary: 'List the limits of an account with their use at all instances',
  permission: 'read',
  params: z.object({ account: text.describe('Its id.') }),
  reply: limitList,
  handler: async ({ params, caller, context }) =>
    limitsFor(caller, limitStates(context, await limitedAccount(context, params.account))),
});

const keyLimits = defineRoute({
  method: 'GET',
  path: '/keys/{key}/limits',
  name: 'listKeyLimits',
  summary: 'List the limits of a key and of its account with their use at all instances',
  permission: 'read',
  params: z.object({ key: text.describe('Its id, `key_…`.') }),
  reply: limitList,
  handler: async ({ params, caller, context }) =>
    limitsFor(caller, limitStates(context, await limitedKey(context, params.key))),
});

/** What was used, and what is left. */
export const usageRoutes = [sumUsage, accountLimits, keyLimits];
