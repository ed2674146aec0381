import { Command } from 'commander';
import { suggested } from '../common/suggestion.ts';
import type { KeyRecord } from '../records/key-records.ts';
import type { KeyTags } from '../records/key-tags.ts';
import { KeyEnded, NotThere } from '../records/record-errors.ts';
import {
  type CommandContext,
  CommandMistake,
  inStore,
  UsageMistake,
  type Voice,
  withConfig,
} from './command.ts';
import { expiryOf, overlapOf, units_ms } from './key-times.ts';
import { type Column, firstRows, type ListOptions, shownRows, shownTime, withList } from './output-table.ts';
import {
  modelsOf,
  parsedJson,
  refusing,
  replacing,
  rulesOf,
  shownModels,
  type WasOption,
  withWas,
} from './record-changes.ts';

/** `sluice keys …`. */
export function keysCommand(voice: Voice): Command {
  const keys = new Command('keys').description('API keys of the records store').addHelpText(
    'after',
    `
Changes reach every running instance within 5 seconds; what a key has used stays counted.
Keys of the configuration are not listed here.`,
  );
  withConfig(keys.command('create'))
    .description('make a key and print it once: only its SHA-256 is kept')
    .requiredOption(
      '-a, --account <ACCOUNT>',
      'its account, of the configuration or made with: sluice accounts create',
    )
    .option('-n, --name <NAME>', 'who or what uses it')
    .option('--expires <TIME>', '12h, 30d, 8w, 2027-01-31 or an ISO time', text =>
      expiryOf('--expires', text),
    )
    .option(
      '--limits <JSON>',
      'limits of this key beside those of its account, such as \'{"requests_per_minute": 5}\'',
      parsedJson,
    )
    .option(
      '--models <IDS>',
      'the models that it may use, divided by commas; ai/* for all that begin like that',
      modelsOf,
    )
    .option(
      '--tag <NAME=VALUE>',
      'a tag of it, of those that the configuration lists; several as --tag team=a --tag product=x',
      (text: string, before: KeyTags = {}) => ({ ...before, ...tagsOf(text) }),
    )
    .action(inStore(create, voice));
  withConfig(keys.command('import <FILE>'))
    .description(
      'take keys that were made elsewhere, all or none: JSON lines of { account, name, sha256, hint, expires, limits, models, tags }',
    )
    .action(inStore(importKeys, voice));
  withConfig(keys.command('set-models <ID> <IDS>'))
    .description('change the models that it may use, divided by commas; - for all that its account may')
    .action(inStore(setModels, voice));
  withConfig(keys.command('set-tags <ID> <TAGS>'))
    .description('replace its tags: team=a, several divided by commas; - for none')
    .action(inStore(setTags, voice));
  withWas(withConfig(keys.command('set-limits <ID> <JSON>')))
    .description("change its own limits, which hold beside those of its account; '{}' for none")
    .action(inStore(setLimits, voice));
  withConfig(keys.command('set-expiry <ID> <TIME>'))
    .description('change when it ends: 12h, 30d, 8w, 2027-01-31, an ISO time, or never')
    .action(inStore(setExpiry, voice));
  withList(withConfig(keys.command('list')))
    .description(
      'list active keys, newest first; "used" is the time of the last use, to within half a minute',
    )
    .option('-a, --account <ACCOUNT>', 'keys of this account')
    .option('--search <TEXT>', 'a part of the name, the id or the account')
    .option('--all', 'also revoked and expired ones')
    .action(inStore(list, voice));
  withConfig(keys.command('rotate <ID>'))
    .description(
      'make a key that replaces another, with its account, name, limits and lifetime, and print it once',
    )
    .option(
      '--overlap <TIME>',
      'time for which the old key goes on working: 0, 30m, 1h, 7d; 1d without it',
      overlapOf,
    )
    .action(inStore(rotate, voice));
  withConfig(keys.command('revoke <ID...>'))
    .description(
      'end keys for good, at every running instance within 5 seconds; ids are in: sluice keys list',
    )
    .action(inStore(revoke, voice));
  return keys;
}

interface CreateOptions {
  readonly config: string;
  readonly account: string;
  readonly name?: string;
  /** In milliseconds since 1970. */
  readonly expires?: number;
  readonly limits?: Record<string, unknown>;
  readonly models?: readonly string[] | null;
  readonly tag?: KeyTags;
}

async function create(
  { store, settings, operator, print, remark }: CommandContext,
  { account, name = '', expires, limits = {}, models = null, tag: tags = {}, config }: CreateOptions,
): Promise<void> {
  const configured = Object.keys(settings.accounts);
  if (!configured.includes(account) && !(await store.accounts.find(account)))
    throw new CommandMistake(
      `there is no account '${account}'${suggested(account, configured, `make it with: sluice accounts create ${account} --config ${config}`)}`,
    );
  const wanted = { account, name, expires_ms: expires ?? null, limits, models, tags };
  const { key, record } = await refusing(async ({ checkKey }) => {
    checkKey(rulesOf(settings), wanted, operator.at_ms);
    return store.keys.create(wanted, operator);
  });
  print(key);
  remark(
    `${record.id} of account ${account}; ${endOf(record)}. The key is shown this once and cannot be shown again.`,
  );
}

async function importKeys({ store, settings, operator, print }: CommandContext, file: string): Promise<void> {
  if (!store.keys.import)
    throw new CommandMistake('this records store takes no keys that were made elsewhere');
  const { readImportedKeys } = await import('./imported-keys.ts');
  const keys = readImportedKeys(file);
  const configured = Object.keys(settings.accounts);
  const asked = [...new Set(keys.map(({ account }) => account))].filter(id => !configured.includes(id));
  for (const account of asked)
    if (!(await store.accounts.find(account))) throw new CommandMistake(`there is no account '${account}'`);
  const { imported, known } = await refusing(async ({ checkKey }) => {
    for (const { models = null, tags = {} } of keys)
      checkKey(rulesOf(settings), { models, tags }, operator.at_ms);
    return store.keys.import!(keys, operator);
  });
  print(`imported ${imported} keys, ${known} were there already`);
}

const columns = (now_ms: number): readonly Column<KeyRecord>[] => [
  { title: 'id', value: ({ id }) => id },
  { title: 'account', value: ({ account }) => account },
  { title: 'name', value: ({ name }) => name },
  { title: 'key', value: ({ hint }) => `…${hint}` },
  { title: 'created', value: ({ created_ms }) => shownTime(created_ms) },
  { title: 'used', value: ({ last_used_ms }) => shownTime(last_used_ms) },
  { title: 'expires', value: ({ expires_ms }) => shownTime(expires_ms) },
  {
    title: 'limits',
    value: ({ limits }) => (Object.keys(limits).length === 0 ? '' : JSON.stringify(limits)),
  },
  { title: 'models', value: ({ models }) => models?.join(',') ?? '' },
  { title: 'tags', value: ({ tags }) => shownTags(tags) },
  { title: 'state', value: key => stateOf(key, now_ms) },
];

/** State of a key in a word. */
export function stateOf(
  { revoked_ms, expires_ms }: Pick<KeyRecord, 'revoked_ms' | 'expires_ms'>,
  now_ms: number,
): string {
  if (revoked_ms !== null) return 'revoked';
  return expires_ms !== null && expires_ms <= now_ms ? 'expired' : 'active';
}

interface KeyListOptions extends ListOptions {
  readonly account?: string;
  readonly search?: string;
  readonly all?: true;
}

async function list(
  { store, operator: { at_ms: now_ms }, print, remark }: CommandContext,
  options: KeyListOptions,
): Promise<void> {
  const { account, search, all } = options;
  const query = { account, search, usable_at_ms: all ? undefined : now_ms };
  const { rows, hasMore } = await firstRows(options.limit, page => store.keys.list({ ...query, ...page }));
  print(shownRows(rows, columns(now_ms), options));
  if (hasMore) remark(`${await store.keys.count(query)} keys in all; --limit N shows more`);
  if (rows.length === 0) remark(all ? 'no keys' : 'no usable keys; --all shows revoked and expired ones');
}

async function setLimits(
  { store, settings, operator, print }: CommandContext,
  id: string,
  json: string,
  { was }: WasOption,
): Promise<void> {
  const limits = parsedJson(json);
  const before = was === undefined ? undefined : parsedJson(was);
  await refusing(async ({ checkKey }) => checkKey(rulesOf(settings), { limits }, operator.at_ms));
  const set = replacing<'limits', KeyRecord['limits']>('limits', limits, before);
  const { account } = await store.keys.change(idOf(id, 'set-limits'), set, operator).catch(mistakenId);
  print(`key ${id} of account ${account} has the limits ${JSON.stringify(limits)}`);
}

async function setModels(
  { store, settings, operator, print }: CommandContext,
  id: string,
  text: string,
): Promise<void> {
  const models = modelsOf(text);
  await refusing(async ({ checkModels }) => checkModels(rulesOf(settings), models));
  const { account } = await store.keys.change(idOf(id, 'set-models'), { models }, operator).catch(mistakenId);
  print(`key ${id} of account ${account} may use ${shownModels(models)}`);
}

async function setTags(
  { store, settings, operator, print }: CommandContext,
  id: string,
  text: string,
): Promise<void> {
  const tags = tagsOf(text);
  await refusing(async ({ checkKey }) => checkKey(rulesOf(settings), { tags }, operator.at_ms));
  const { account } = await store.keys.change(idOf(id, 'set-tags'), { tags }, operator).catch(mistakenId);
  print(`key ${id} of account ${account} has the tags ${shownTags(tags) || '(none)'}`);
}

/** Tags that the command takes, divided by commas; none for `-`. */
function tagsOf(text: string): KeyTags {
  if (text === '-') return {};
  const pairs = text.split(',').map(pair => /^([^=]+)=(.+)$/.exec(pair.trim()));
  if (pairs.includes(null)) throw new UsageMistake(`a tag must be NAME=VALUE, such as team=a; not '${text}'`);
  return Object.fromEntries(pairs.map(pair => [pair![1], pair![2]]));
}

const shownTags = (tags: KeyTags): string =>
  Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

async function setExpiry(
  { store, operator, print }: CommandContext,
  id: string,
  text: string,
): Promise<void> {
  const expires_ms = text === 'never' ? null : expiryOf('set-expiry', text);
  const key = await store.keys.change(idOf(id, 'set-expiry'), { expires_ms }, operator).catch(mistakenId);
  print(`key ${id} of account ${key.account} ${endOf(key)}`);
}

async function rotate(
  { store, operator, print, remark }: CommandContext,
  id: string,
  { overlap = units_ms.d }: { readonly overlap?: number },
): Promise<void> {
  const { key, record, old } = await store.keys
    .rotate(idOf(id, 'rotate'), overlap, operator)
    .catch(mistakenId);
  print(key);
  remark(
    `${record.id} of account ${record.account}; ${endOf(record)}. The old key ${endOf(old)}. The key is shown this once and cannot be shown again.`,
  );
}

/** When a key ends, in words. */
export const endOf = ({ expires_ms }: Pick<KeyRecord, 'expires_ms'>): string =>
  expires_ms === null ? 'does not expire' : `expires ${shownTime(expires_ms)} UTC`;

function idOf(id: string, command: string): string {
  if (!id.startsWith('sk-')) return id;
  throw new UsageMistake(`sluice keys ${command} takes the id of a key (key_…), not the key`);
}

function mistakenId(thrown: unknown): never {
  if (thrown instanceof NotThere)
    throw new CommandMistake(`${thrown.message}; ids are in: sluice keys list --all`);
  if (thrown instanceof KeyEnded)
    throw new CommandMistake(`${thrown.message}; make another one with: sluice keys create`);
  throw thrown;
}

async function revoke(
  { store, operator, print, remark }: CommandContext,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    const { account, revoked_ms } = await store.keys.revoke(idOf(id, 'revoke'), operator).catch(mistakenId);
    const when = revoked_ms === operator.at_ms ? '' : `, on ${shownTime(revoked_ms)} UTC already`;
    print(`revoked ${id} of account ${account}${when}`);
  }
  remark('every instance refuses it within 5 seconds');
}
