import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Clock, systemClock } from '../common/clock.ts';
import { noSuchName } from '../common/suggestion.ts';
import type { Account, AccountDirectory, ModelList } from '../gateway/accounts/accounts.ts';
import { keyLimitsSchema, limitOverridesSchema } from '../gateway/limits/plan-limits.ts';
import { isContact, max_contacts } from './account-records.ts';
import { idsAbove } from './account-tree.ts';
import { hashKey } from './key-secret.ts';
import { keyTagsSchema } from './key-tags.ts';

/** Schema of a list of models. */
export const modelListSchema = z.array(z.string().min(1)).meta({ shown: true });

const keyOptions = {
  name: z
    .string()
    .regex(/^[\w.@+-]{1,64}$/, 'must be 1 to 64 letters of ASCII, digits and _ . @ + -')
    .meta({ shown: true })
    .optional()
    .describe('Who or what uses it: in the ledger and the log as ACCOUNT/NAME. Needed for `limits`.'),
  expires: z
    .union(
      [z.iso.datetime({ offset: true }), z.iso.date()],
      'must be a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z',
    )
    .meta({ shown: true })
    .optional()
    .describe(
      'When the key expires: a time, or a day, which means 00:00 UTC of that day. From then on the key is refused like an unknown one.',
    ),
  limits: keyLimitsSchema.optional().describe('Limits of this key, beside those of its account.'),
  models: modelListSchema
    .optional()
    .describe(
      "The models that it may use, of those that its account may: ids, or `openai/*` for all that begin like that. By default the account's.",
    ),
  tags: keyTagsSchema
    .optional()
    .describe('What its usage can be grouped by, of what `tags` at the top level lists. Needs a `name`.'),
};

const keySchema = z
  .strictObject({
    value: z
      .string()
      .min(8, 'must have at least 8 characters')
      .optional()
      .describe('The key itself, of at least 8 characters; usually `${NAME}` or `${file:PATH}`.'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the key: 64 hexadecimal digits')
      .optional()
      .describe('The SHA-256 of the key, as 64 hexadecimal digits.'),
    ...keyOptions,
  })
  .refine(({ value, sha256 }) => (value === undefined) !== (sha256 === undefined), {
    error: 'must have either value or sha256',
    // A name that is misspelt is reported alone.
    when: ({ issues }) => issues.length === 0,
  })
  .refine(({ name, limits }) => name !== undefined || limits === undefined, {
    path: ['limits'],
    error: 'need a name, under which they are counted',
  })
  .refine(({ name, tags }) => name !== undefined || tags === undefined, {
    path: ['tags'],
    error: 'need a name, under which its usage is',
  });

export const accountSchema = z.strictObject({
  plan: z.string().meta({ shown: true }).optional().describe('A name under `plans`.'),
  limits: limitOverridesSchema
    .optional()
    .describe('Limits in place of those of the plan, name by name; `null` lifts one.'),
  models: modelListSchema
    .optional()
    .describe(
      'The models that it may use: ids, or `openai/*` for all that begin like that. By default all, or those of its parent.',
    ),
  parent: z
    .string()
    .meta({ shown: true })
    .optional()
    .describe(
      "An account of the configuration whose limits hold for this one as well, and for all others below it together. At most two are above an account: its team, and that one's organisation.",
    ),
  contacts: z
    .array(z.string().refine(isContact, 'must be a mail address'))
    .max(max_contacts)
    .meta({ shown: true })
    .optional()
    .describe(
      'Mail addresses of its people, who are told of its limits where `notices.mail.customers` is set.',
    ),
  keys: z.array(keySchema).default([]).describe('Keys as `value` or, better, as their `sha256`.'),
});

/** Schema of accounts by name, for options of stages. */
export const accountsSchema = z
  .record(z.string().min(1), accountSchema)
  .superRefine((accounts, { addIssue }) => {
    for (const [id, { parent, keys }] of Object.entries(accounts)) {
      const message = parent === undefined ? undefined : treeFault(accounts, id, parent);
      if (message !== undefined) addIssue({ code: 'custom', path: [id, 'parent'], message });
      const names = keys.map(({ name }) => name);
      for (const [at, name] of names.entries())
        if (name !== undefined && names.indexOf(name) < at)
          addIssue({
            code: 'custom',
            path: [id, 'keys', at, 'name'],
            message: `another key is called '${name}'`,
          });
    }
  });

function treeFault(accounts: AccountsConfig, id: string, parent: string): string | undefined {
  if (!Object.hasOwn(accounts, parent)) return noSuchName('account', parent, Object.keys(accounts));
  try {
    idsAbove(id, each => (Object.hasOwn(accounts, each) ? accounts[each]!.parent : undefined));
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

type ConfiguredKey = z.output<typeof keySchema>;

export type AccountsConfig = Record<string, z.infer<typeof accountSchema>>;

/** Digest of a configured key, written as text or as digest. */
export const digestOfKey = ({ value, sha256 }: ConfiguredKey): string =>
  sha256?.toLowerCase() ?? hashKey(value!);

/** The accounts and keys of the configuration. */
export class ConfiguredAccounts implements AccountDirectory {
  #byDigest: ReadonlyMap<string, Account> = new Map();
  #byId: ReadonlyMap<string, Account> = new Map();

  #below: ReadonlyMap<string, readonly string[]> = new Map();
  /** When keys end, by digest. */
  #ends_ms: ReadonlyMap<string, number> = new Map();
  readonly #clock: Pick<Clock, 'epoch_ms'>;

  constructor(accounts: AccountsConfig, clock: Pick<Clock, 'epoch_ms'> = systemClock) {
    this.#clock = clock;
    this.#read(accounts);
  }

  /** Replaces all accounts and keys at once. Returns the ids of accounts that came, went, or have another plan or other limits. */
  replace(accounts: AccountsConfig): ReadonlySet<string> {
    const before = this.#byId;
    this.#read(accounts);
    const now = this.#byId;
    return new Set([...before.keys(), ...now.keys()].filter(id => before.get(id) !== now.get(id)));
  }

  /**
   * A map lookup by digest takes a time that depends on the digest alone. An attacker who measured it would learn about
   * the SHA-256 of a guess, which is no step towards a key, so this is as good as a comparison in constant time.
   */
  find(key: string, digest = hashKey(key)): Account | undefined {
    const hasEnded = this.#ends_ms.size > 0 && this.#clock.epoch_ms() >= this.#ends_ms.get(digest)!;
    return hasEnded ? undefined : this.#byDigest.get(digest);
  }

  /** The ids of the accounts that are below another. */
  below(id: string): readonly string[] {
    return this.#below.get(id) ?? [];
  }

  /** The account of this id; undefined if there is none. */
  findById(id: string): Account | undefined {
    return this.#byId.get(id);
  }

  #read(accounts: AccountsConfig): void {
    const [byId, byDigest] = [new Map<string, Account>(), new Map<string, Account>()];
    const below = new Map<string, string[]>();
    const make = (id: string): Account => {
      const { plan, limits, models } = accounts[id]!;
      const parents = idsAbove(id, each => accounts[each]?.parent).map(
        above => byId.get(above) ?? make(above),
      );
      for (const above of parents) below.set(above.id, [...(below.get(above.id) ?? []), id]);
      const lists = listsOf(models, parents[0]);
      const given = { id, plan, limits, ...(parents.length > 0 && { parents }), ...lists };
      const account = unchanged(given, this.#byId.get(id));
      byId.set(id, account);
      return account;
    };
    const ends_ms = new Map<string, number>();
    for (const [id, { keys }] of Object.entries(accounts)) {
      const account = byId.get(id) ?? make(id);
      for (const key of keys) {
        const digest = digestOfKey(key);
        byDigest.set(digest, unchanged(accountOfKey(account, key), this.#byDigest.get(digest)));
        if (key.expires !== undefined) ends_ms.set(digest, Date.parse(key.expires));
      }
    }
    this.#byId = byId;
    this.#below = below;
    this.#byDigest = byDigest;
    this.#ends_ms = ends_ms;
  }
}

/** The same object where nothing has changed: stages have made what they need of it already. */
const unchanged = (given: Account, known: Account | undefined): Account =>
  known && isDeepStrictEqual(known, given) ? known : Object.freeze(given);

/** A list of models beside those of the account that it is for, or of the parent of that. */
export function listsOf(
  models: ModelList | null | undefined,
  of: Account | undefined,
): Pick<Account, 'model_lists'> {
  const lists = [...(models ? [models] : []), ...(of?.model_lists ?? [])];
  return lists.length > 0 ? { model_lists: lists } : {};
}

/** The account with what its key has; itself if that is nothing. */
function accountOfKey(account: Account, { name, limits, models }: ConfiguredKey): Account {
  if (name === undefined && models === undefined) return account;
  return {
    ...account,
    ...(name !== undefined && { key_id: `${account.id}/${name}` }),
    ...(limits && { key_limits: limits }),
    ...listsOf(models, account),
  };
}
