import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { noSuchName } from '../common/suggestion.ts';
import type { Account, AccountDirectory } from '../gateway/accounts/accounts.ts';
import { limitOverridesSchema } from '../gateway/limits/plan-limits.ts';
import { isContact, max_contacts } from './account-records.ts';
import { idsAbove } from './account-tree.ts';
import { hashKey } from './key-secret.ts';

const keySchema = z.union(
  [
    z.strictObject({
      value: z
        .string()
        .min(8, 'must have at least 8 characters')
        .describe('The key itself, of at least 8 characters; usually `${NAME}` or `${file:PATH}`.'),
    }),
    z.strictObject({
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the key: 64 hexadecimal digits')
        .describe('The SHA-256 of the key, as 64 hexadecimal digits.'),
    }),
  ],
  'must be an object with one name: value or sha256',
);

export const accountSchema = z.strictObject({
  plan: z.string().meta({ shown: true }).optional().describe('A name under `plans`.'),
  limits: limitOverridesSchema
    .optional()
    .describe('Limits in place of those of the plan, name by name; `null` lifts one.'),
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
    for (const [id, { parent }] of Object.entries(accounts)) {
      const message = parent === undefined ? undefined : treeFault(accounts, id, parent);
      if (message !== undefined) addIssue({ code: 'custom', path: [id, 'parent'], message });
    }
  });

function treeFault(accounts: AccountsConfig, id: string, parent: string): string | undefined {
  const names = Object.keys(accounts);
  if (!names.includes(parent)) return noSuchName('account', parent, names);
  try {
    idsAbove(id, each => (Object.hasOwn(accounts, each) ? accounts[each]!.parent : undefined));
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

export type AccountsConfig = Record<string, z.infer<typeof accountSchema>>;

/** Digest of a configured key, written as text or as digest. */
export function digestOfKey(key: z.output<typeof keySchema>): string {
  return 'sha256' in key ? key.sha256.toLowerCase() : hashKey(key.value);
}

/** The accounts and keys of the configuration. */
export class ConfiguredAccounts implements AccountDirectory {
  #byDigest: ReadonlyMap<string, Account> = new Map();
  #byId: ReadonlyMap<string, Account> = new Map();

  constructor(accounts: AccountsConfig) {
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
    return this.#byDigest.get(digest);
  }

  /** The ids of the accounts that are below another. */
  below(id: string): readonly string[] {
    const isBelow = ({ parents }: Account) => parents?.some(parent => parent.id === id);
    return [...this.#byId.values()].filter(isBelow).map(account => account.id);
  }

  /** The account of this id; undefined if there is none. */
  findById(id: string): Account | undefined {
    return this.#byId.get(id);
  }

  #read(accounts: AccountsConfig): void {
    const before = this.#byId;
    const byId = new Map<string, Account>();
    const byDigest = new Map<string, Account>();
    const make = (id: string): Account => {
      const { plan, limits } = accounts[id]!;
      const parents = idsAbove(id, each => accounts[each]?.parent).map(
        above => byId.get(above) ?? make(above),
      );
      const [given, known] = [{ id, plan, limits, ...(parents.length > 0 && { parents }) }, before.get(id)];
      // The same object where nothing has changed: stages have made what they need of it already.
      const account = known && isDeepStrictEqual(known, given) ? known : Object.freeze(given);
      byId.set(id, account);
      return account;
    };
    for (const [id, { keys }] of Object.entries(accounts)) {
      const account = byId.get(id) ?? make(id);
      for (const key of keys) byDigest.set(digestOfKey(key), account);
    }
    this.#byId = byId;
    this.#byDigest = byDigest;
  }
}
