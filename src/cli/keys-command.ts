import { Command } from 'commander';
import { suggested } from '../diagnostics/suggestion.ts';
import { NotThere } from '../stores/records/account-records.ts';
import { isDay } from '../stores/records/calendar-day.ts';
import { KeyEnded, type KeyRecord } from '../stores/records/key-records.ts';
import { type CommandContext, CommandMistake, inStore, type Voice, withConfig } from './command.ts';
import { type Column, firstRows, type ListOptions, shownRows, shownTime, withList } from './output-table.ts';

/** `sluice keys …`. */
export function keysCommand(voice: Voice): Command {
  const keys = new Command('keys')
    .description('API keys of the records store')
    .addHelpText('after', '\nKeys of the configuration are not listed here.');
  withConfig(keys.command('create'))
    .description('make a key and print it, once: only its SHA-256 is kept')
    .requiredOption(
      '-a, --account <ACCOUNT>',
      'its account, of the configuration or made with: sluice accounts create',
    )
    .option('-n, --name <NAME>', 'who or what uses it', nameOf)
    .option('--expires <TIME>', '12h, 30d, 8w, 2027-01-31 or an ISO time', expiryOf)
    .action(inStore(create, voice));
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
      'make a key in place of another, for the same account, by the same name and for as long, and print it, once',
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

function nameOf(text: string): string {
  if (text.length <= 200) return text;
  throw new CommandMistake('--name: at most 200 characters');
}

const units_ms = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Milliseconds of `12h`, `30d` or `8w`; undefined for anything else. */
function durationOf(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * units_ms[unit as keyof typeof units_ms];
}

function overlapOf(text: string): number {
  const overlap_ms = text === '0' ? 0 : durationOf(text);
  if (overlap_ms !== undefined) return overlap_ms;
  throw new CommandMistake(`--overlap: '${text}' is no time; use 0, 30m, 1h, 7d or 2w`);
}

/** Parses `12h`, `30d` or `8w` from now, a day such as `2027-01-31` (its beginning, in UTC), or an ISO time, into milliseconds since 1970. */
function expiryOf(text: string): number {
  const now_ms = Date.now();
  const lasts_ms = durationOf(text);
  const at_ms = lasts_ms === undefined ? dateOf(text) : now_ms + lasts_ms;
  if (at_ms === undefined)
    throw new CommandMistake(
      `--expires: '${text}' is no time; use 12h, 30d, 8w, 2027-01-31 or 2027-01-31T18:00Z`,
    );
  if (at_ms <= now_ms) throw new CommandMistake(`--expires: ${text} has passed already`);
  return at_ms;
}

function dateOf(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)) return undefined;
  const at_ms = Date.parse(text);
  // Date.parse takes 2027-02-31 for a day in March.
  return Number.isNaN(at_ms) || (text.length === 10 && !isDay(text)) ? undefined : at_ms;
}

interface CreateOptions {
  readonly config: string;
  readonly account: string;
  readonly name?: string;
  /** In milliseconds since 1970. */
  readonly expires?: number;
}

async function create(
  { store, settings, operator, print, remark }: CommandContext,
  { account, name = '', expires, config }: CreateOptions,
): Promise<void> {
  const configured = settings.configured.map(({ id }) => id);
  if (!configured.includes(account) && !(await store.accounts.find(account)))
    throw new CommandMistake(
      `there is no account '${account}'${suggested(account, configured, `make it with: sluice accounts create ${account} --config ${config}`)}`,
    );
  const { key, record } = await store.keys.create({ account, name, expires_ms: expires ?? null }, operator);
  print(key);
  remark(
    `${record.id} of account ${account}; ${endOf(record)}. The key is shown this once and cannot be shown again.`,
  );
}

const columns = (now_ms: number): readonly Column<KeyRecord>[] => [
  { title: 'id', value: ({ id }) => id },
  { title: 'account', value: ({ account }) => account },
  { title: 'name', value: ({ name }) => name },
  { title: 'key', value: ({ hint }) => `…${hint}` },
  { title: 'created', value: ({ created_ms }) => shownTime(created_ms) },
  { title: 'used', value: ({ last_used_ms }) => shownTime(last_used_ms) },
  { title: 'expires', value: ({ expires_ms }) => shownTime(expires_ms) },
  { title: 'state', value: key => stateOf(key, now_ms) },
];

function stateOf({ revoked_ms, expires_ms }: KeyRecord, now_ms: number): string {
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

const endOf = ({ expires_ms }: KeyRecord): string =>
  expires_ms === null ? 'does not expire' : `expires ${shownTime(expires_ms)} UTC`;

function idOf(id: string, command: string): string {
  if (!id.startsWith('sk-')) return id;
  throw new CommandMistake(`sluice keys ${command} takes the id of a key (key_…), not the key`);
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
