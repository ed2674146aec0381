import { isPrintable } from '../../../common/printable.ts';
import { hashKey } from '../../../records/key-secret.ts';
import { CommandMistake } from '../../command.ts';
import { type FieldRule, Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import { freeName, type ImportedConfig } from '../imported-config.ts';
import { readWritten } from '../written-file.ts';
import { limitsOf } from './key-limits.ts';
import type { ModelNames } from './model-names.ts';

const elsewhere: Readonly<Record<string, FieldRule>> = {
  permissions: 'models of a key or account says what it may use',
  allowed_routes: 'a key may use all that is offered',
  allowed_cache_controls: 'clients say with cache-control what they take from the cache',
  model_max_budget: 'limits.models of the account limits single models, by requests, tokens and dollars',
  soft_budget: 'notices tell of limits that are nearly used, and soft: true of a limit lets it warn alone',
  rotation_interval: 'sluice keys rotate makes a key in place of another',
};

/**
 * Reads an export of LiteLLM's keys: rows of its table of keys, or an object with `keys`, `teams` and `users`. Each key goes on
 * working by its SHA-256, with its limits, models and end, in the account of its team or user, or one of its own. Throws a CommandMistake for another file.
 */
export function importKeys(
  file: string,
  config: ImportedConfig,
  names: ModelNames,
  now_ms: number,
): Findings {
  const { value, findings } = readWritten(file);
  const [root, path] = Array.isArray(value) ? [{ keys: value }, []] : [value, ['keys']];
  const tables = new Fields(root, [], findings);
  const rows = tables.list('keys').map((row, at) => new Fields(row, [...path, at], findings));
  const reading = new KeyImport({ config, names, findings, now_ms });
  reading.addOwners(tables);
  for (const row of rows) reading.addKey(row);
  if (reading.keys === 0)
    throw new CommandMistake(
      `${file}: no key came over, of a list of rows or an object with keys\n${findings.text}`,
    );
  return findings;
}

interface Reading {
  readonly config: ImportedConfig;
  readonly names: ModelNames;
  readonly findings: Findings;
  readonly now_ms: number;
}

/** An account of the configuration. */
interface ImportedAccount {
  readonly limits?: Readonly<Record<string, number>>;
  readonly models?: readonly string[];
  readonly keys: { readonly name: string; readonly [field: string]: unknown }[];
  aliases?: Readonly<Record<string, string>>;
}

/** An account, with the row of its team or user if there is one. */
interface Owner {
  readonly account: ImportedAccount;
  readonly row: Fields | undefined;
}

/** One run of the import. */
class KeyImport {
  readonly #reading: Reading;
  readonly #owners = new Map<string, Owner>();
  readonly #digests = new Set<string>();

  /** How many came over. */
  get keys(): number {
    return this.#digests.size;
  }

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** Makes accounts of teams and users, which have no keys. */
  addOwners(tables: Fields): void {
    const { findings } = this.#reading;
    for (const [table, kind] of [
      ['teams', 'team'],
      ['users', 'user'],
    ] as const)
      for (const [at, value] of tables.list(table).entries()) {
        const row = new Fields(value, [table, at], findings);
        const id = row.value(`${kind}_id`);
        if (typeof id !== 'string') findings.lost(row.path, `must have a ${kind}_id`);
        else this.#addOwner(`${kind} ${id}`, row.value(`${kind}_alias`) ?? id, row);
      }
  }

  addKey(row: Fields): void {
    const { findings, now_ms } = this.#reading;
    const sha256 = digestIn(row);
    if (sha256 === undefined) return findings.lost(row.path, 'must have a token: the SHA-256 of the key');
    const ends_ms = timeIn(row.value('expires'));
    if (row.value('blocked') === true)
      return findings.lost([...row.path, 'blocked'], 'is left out with its key');
    if (ends_ms !== undefined && ends_ms <= now_ms)
      return findings.lost([...row.path, 'expires'], 'is over: the key is left out');
    if (this.#digests.has(sha256)) return findings.lost([...row.path, 'token'], 'stands here a second time');
    const owner = this.#ownerOf(row, sha256);
    if (owner.row?.value('blocked') === true)
      return findings.lost(row.path, 'is left out: its team or user is blocked');
    this.#digests.add(sha256);
    const { account } = owner;
    account.keys.push({
      sha256,
      name: keyName(row, sha256, account),
      ...(ends_ms !== undefined && { expires: new Date(ends_ms).toISOString() }),
      ...this.#rightsOf(row),
    });
    this.#addAliases(row, account);
    this.#noteRest(row);
  }

  #addOwner(key: string, wanted: unknown, row?: Fields): Owner {
    const account: ImportedAccount = { ...(row && this.#rightsOf(row)), keys: [] };
    const owner = { account, row };
    this.#owners.set(key, owner);
    this.#reading.config.accounts[this.#nameFor(wanted)] = account;
    return owner;
  }

  /** Whose account has the key: its team's, else its user's, else one of its own. */
  #ownerOf(row: Fields, sha256: string): Owner {
    for (const kind of ['team', 'user']) {
      const id = row.value(`${kind}_id`);
      if (typeof id !== 'string' || id === '') continue;
      return this.#owners.get(`${kind} ${id}`) ?? this.#addOwner(`${kind} ${id}`, id);
    }
    return this.#addOwner(`key ${sha256}`, row.value('key_alias') ?? `key-${sha256.slice(0, 8)}`);
  }

  #nameFor(wanted: unknown): string {
    const text = typeof wanted === 'string' ? wanted.slice(0, 100) : '';
    const isUsable = isPrintable(text) && text.trim() !== '' && !text.includes('${') && text !== '__proto__';
    return freeName(isUsable ? text : 'account', name => Object.hasOwn(this.#reading.config.accounts, name));
  }

  /** The limits and models of a key, a team or a user. */
  #rightsOf(row: Fields): Pick<ImportedAccount, 'limits' | 'models'> {
    const { names, findings } = this.#reading;
    const limits = limitsOf(row, findings);
    const models = names.idsOf(row, findings);
    return { ...(Object.keys(limits).length > 0 && { limits }), ...(models && { models }) };
  }

  /** Other names for models are those of the account: of two keys the first one counts. */
  #addAliases(row: Fields, account: ImportedAccount): void {
    const { names, findings } = this.#reading;
    const aliases = names.aliasesIn(row.fields('aliases'), findings);
    for (const [name, id] of Object.entries(aliases))
      if (account.aliases?.[name] !== undefined && account.aliases[name] !== id)
        findings.lost([...row.path, 'aliases', name], 'is another model for another key of the account');
    if (Object.keys(aliases).length > 0) account.aliases = { ...aliases, ...account.aliases };
  }

  #noteRest(row: Fields): void {
    const { findings } = this.#reading;
    for (const [field, reason] of Object.entries(elsewhere)) {
      const value = row.value(field);
      const isEmpty =
        value === undefined || (typeof value === 'object' && Object.keys(value as object).length === 0);
      if (!isEmpty) findings.lost([...row.path, field], reason as string);
    }
    if (row.number('spend'))
      findings.check([...row.path, 'spend'], 'limits begin anew: what was spent before does not count');
  }
}

/** The name of a key, which its account has once. */
function keyName(row: Fields, sha256: string, { keys }: ImportedAccount): string {
  const alias = row.value('key_alias');
  const text = typeof alias === 'string' ? alias.slice(0, 50).replaceAll(/[^\w.@+-]/g, '-') : '';
  return freeName(text || `key-${sha256.slice(0, 8)}`, name => keys.some(key => key.name === name));
}

/** The SHA-256 of a key, also of one that is written itself. */
function digestIn(row: Fields): string | undefined {
  const token = row.value('token');
  if (typeof token !== 'string') return undefined;
  if (/^[0-9a-f]{64}$/i.test(token)) return token.toLowerCase();
  return token.startsWith('sk-') ? hashKey(token) : undefined;
}

/** A time of the database, in UTC where it names no zone. */
function timeIn(value: unknown): number | undefined {
  const text = value instanceof Date ? value.toISOString() : value;
  if (typeof text !== 'string') return undefined;
  const at_ms = Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(at_ms) ? undefined : at_ms;
}
