import { z } from 'zod';
import {
  type Account,
  allowModels,
  type CacheStore,
  type Catalog,
  catalogReader,
  defineStage,
  type Exchange,
  forbiddenModel,
  namesModel,
  refusal,
  restrictFallbacks,
  type StageFactory,
} from '../../../src/plugin.ts';
import type { ModelAccessOptions } from './options.ts';

/** Longest wait for `allowed`. */
const limit_ms = 5000;

/** Returns the models that an account may use; of requests without an account where it is undefined. */
type Allowed = (
  account: { readonly id: string; readonly plan?: string | undefined } | undefined,
) => readonly string[] | Promise<readonly string[]>;

const models = z.array(z.string().min(1)).meta({ shown: true });

const lists = {
  plans: z
    .record(z.string(), models)
    .default({})
    .describe(
      'Models by plan: `{ free: [small], pro: ["*"], team: ["openai/*"] }`; `*` at an end stands for the rest.',
    ),
  accounts: z
    .record(z.string(), models)
    .default({})
    .describe("Models by account, in place of those of the account's plan."),
  others: models
    .default([])
    .describe('Models of accounts that no list names, and of requests without an account; none by default.'),
};

const schema = z
  .strictObject({
    ...lists,
    allowed: z
      .custom<Allowed>(
        value => typeof value === 'function',
        'must be a function, and so can only be given in code',
      )
      .meta({
        description:
          'In code, in place of the lists: `async account => [...]`. While it fails, or for 5 s does not answer, requests get 502 `server_error`.',
        tsType:
          '(account: { readonly id: string; readonly plan?: string | undefined } | undefined) => readonly string[] | Promise<readonly string[]>',
      })
      .optional(),
    allowed_ttl_s: z
      .int()
      .min(0)
      .max(86_400)
      .default(60)
      .describe('Seconds for which its answer is remembered.'),
  })
  .refine(
    ({ allowed, plans, accounts, others }) =>
      !allowed || Object.keys({ ...plans, ...accounts }).length + others.length === 0,
    { path: ['allowed'], error: 'is given in place of plans, accounts and others; leave them out' },
  );

/** Refuses models that an account may not use. After `auth`, which finds the account, and `validation`, which refuses unknown models. */
export const modelAccess: StageFactory<ModelAccessOptions> = defineStage({
  name: 'model-access',
  schema,
  create(options, { catalog, cache }) {
    const { allowed, allowed_ttl_s } = options;
    if (allowed) {
      const ask = askAllowed(allowed, allowed_ttl_s * 1000, cache);
      return {
        takesTokens: true,
        onHeaders: exchange =>
          isUnread(exchange) ? ask(readerOf(exchange)).then(list => allowModels(exchange, list)) : undefined,
        onRequest: async exchange => admit(exchange, await ask(exchange.account)),
      };
    }
    checkNames(options, catalog);
    const byPlan = new Map(Object.entries(options.plans));
    const byAccount = new Map(Object.entries(options.accounts));
    const modelsOf = ({ id = '', plan = '' }: Partial<Account> = {}) =>
      byAccount.get(id) ?? byPlan.get(plan) ?? options.others;
    return {
      takesTokens: true,
      onHeaders(exchange) {
        if (isUnread(exchange)) allowModels(exchange, modelsOf(readerOf(exchange)));
      },
      onRequest: exchange => admit(exchange, modelsOf(exchange.account)),
    };
  },
});

/** The account of an exchange, and of one for the catalog that of the key that came with it. */
const readerOf = (exchange: Exchange): Account | undefined => exchange.account ?? exchange.get(catalogReader);

/** Whether `onRequest` sees no model: of what is passed on unread, and of the catalog, of which those without a key see all. */
const isUnread = (exchange: Exchange): boolean =>
  exchange.endpoint.name === 'passthrough' ||
  (exchange.endpoint.name === 'models' && readerOf(exchange) !== undefined);

function admit(exchange: Exchange, allowed: readonly string[]): void {
  const { model } = exchange.request;
  if (exchange.model?.fallbacks) restrictFallbacks(exchange, id => namesModel(allowed, id));
  if (!namesModel(allowed, model)) throw forbiddenModel(model, [allowed], 'account');
}

/** Throws an Error for a model that the catalog does not have. Without a catalog any name may be meant. */
function checkNames({ plans, accounts, others }: z.output<typeof schema>, catalog: Catalog): void {
  const listed = [...Object.values(plans), ...Object.values(accounts), others].flat();
  const unknown = listed.find(name => !catalog.models.some(({ id }) => namesModel([name], id)));
  if (unknown !== undefined && catalog.models.length > 0)
    throw new Error(`model-access: there is no model '${unknown}' in the catalog`);
}

/**
 * Asks `allowed` for an account's models, and remembers the answer. Rejects with `server_error` where it fails, does not answer within 5 s
 * or answers with anything but names: an account whose models are not known may use none.
 */
function askAllowed(allowed: Allowed, ttl_ms: number, cache: CacheStore) {
  return async (account: Account | undefined): Promise<readonly string[]> => {
    const key = JSON.stringify([account?.id, account?.plan]);
    const known = await cache.get(key);
    try {
      if (known !== undefined) return namesIn(JSON.parse(known));
      const models = namesIn(await inTime(allowed(account)));
      void cache.set(key, JSON.stringify(models), ttl_ms);
      return models;
    } catch (cause) {
      throw refusal('server_error', { cause });
    }
  };
}

function namesIn(answer: unknown): readonly string[] {
  if (Array.isArray(answer) && answer.every(name => typeof name === 'string')) return answer;
  throw new Error('model-access: allowed must return an array of model ids');
}

function inTime<T>(work: T | Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const fault = new Error(`model-access: allowed has not answered within ${limit_ms} ms`);
  const timer = setTimeout(() => late.reject(fault), limit_ms);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
