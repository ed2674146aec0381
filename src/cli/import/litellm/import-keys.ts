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
  permissions: 'the models of an account are those of the stage model-access',
  allowed_routes: 'a key may use all that is offered',
  allowed_cache_controls: 'clients say with cache-control what they take from the cache',
  model_max_budget: 'limits.models of the account limits single models, by requests, tokens and dollars',
  soft_budget: 'notices tell of limits that are nearly used',
  rotation_interval: 'sluice keys rotate makes a key in place of another',
};

/**
 * Reads an export of LiteLLM's keys: rows of its table of keys, or an object with `keys`, `teams` and `users`. Each key becomes an account
 * with its limits and models, below that of its team or user, and goes on working by its SHA-256. Throws a CommandMistake for another file.
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

/** One run of the import. */
class KeyImport {
  readonly #reading: Reading;
  readonly #owners = new Map<string, { readonly name: string; readonly row: Fields }>();
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
    const { config, findings, now_ms } = this.#reading;
    const sha256 = digestIn(row);
    if (sha256 === undefined) return findings.lost(row.path, 'must have a token: the SHA-256 of the key');
    const ends_ms = timeIn(row.value('expires'));
    if (row.value('blocked') === true)
      return findings.lost([...row.path, 'blocked'], 'is left out with its key');
    if (ends_ms !== undefined && ends_ms <= now_ms)
      return findings.lost([...row.path, 'expires'], 'is over: the key is left out');
    if (this.#digests.has(sha256)) return findings.lost([...row.path, 'token'], 'stands here a second time');
    this.#digests.add(sha256);
    const name = this.#nameFor(row.value('key_alias') ?? row.value('user_id') ?? `key-${sha256.slice(0, 8)}`);
    const owner = this.#ownerOf(row);
    config.accounts[name] = {
      ...(owner && { parent: owner.name }),
      ...this.#limits(row),
      keys: [{ sha256 }],
      ...this.#aliases(row),
    };
    this.#grantModels(name, row, owner?.row);
    this.#noteRest(row);
  }

  #addOwner(key: string, wanted: unknown, row: Fields) {
    const owner = { name: this.#nameFor(wanted), row };
    this.#owners.set(key, owner);
    this.#reading.config.accounts[owner.name] = this.#limits(row);
    return owner;
  }

  #ownerOf(row: Fields) {
    const [team, user] = [row.value('team_id'), row.value('user_id')];
    if (typeof team === 'string' && team !== '')
      return (
        this.#owners.get(`team ${team}`) ??
        this.#addOwner(`team ${team}`, team, new Fields({}, row.path, this.#reading.findings))
      );
    return typeof user === 'string' ? this.#owners.get(`user ${user}`) : undefined;
  }

  #nameFor(wanted: unknown): string {
    const text = typeof wanted === 'string' ? wanted.slice(0, 100) : '';
    const usable =
      isPrintable(text) && text.trim() !== '' && !text.includes('${') && text !== '__proto__'
        ? text
        : 'account';
    return freeName(usable, name => Object.hasOwn(this.#reading.config.accounts, name));
  }

  #limits(row: Fields): { readonly limits?: Readonly<Record<string, number>> } {
    const limits = limitsOf(row, this.#reading.findings);
    return Object.keys(limits).length > 0 ? { limits } : {};
  }

  #aliases(row: Fields) {
    const { names, findings } = this.#reading;
    const aliases = names.aliasesIn(row.fields('aliases'), findings);
    return Object.keys(aliases).length > 0 ? { aliases } : {};
  }

  #grantModels(name: string, row: Fields, owner: Fields | undefined): void {
    const { names, config, findings } = this.#reading;
    const own = row.list('models').includes('all-team-models') ? [] : row.list('models');
    const source = own.length > 0 || !owner ? row : owner;
    const ids = names.idsOf(source, findings);
    if (ids === undefined) return;
    const access = (config.stages['model-access'] ??= { accounts: {}, others: ['*'] });
    (access.accounts as Record<string, readonly string[]>)[name] = ids;
  }

  #noteRest(row: Fields): void {
    const { findings } = this.#reading;
    for (const [field, reason] of Object.entries(elsewhere)) {
      const value = row.value(field);
      const isEmpty =
        value === undefined || (typeof value === 'object' && Object.keys(value as object).length === 0);
      if (!isEmpty) findings.lost([...row.path, field], reason as string);
    }
    if (row.value('expires') !== undefined)
      findings.lost([...row.path, 'expires'], 'keys of the configuration do not end by themselves');
    if (row.number('spend'))
      findings.check([...row.path, 'spend'], 'limits begin anew: what was spent before does not count');
  }
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
