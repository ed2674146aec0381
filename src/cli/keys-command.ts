import { Command } from 'commander';
import { suggested } from '../diagnostics/suggestion.ts';
import { NotThere } from '../stores/records/account-records.ts';
import type { KeyRecord } from '../stores/records/key-records.ts';
import { type RecordsOptions, recordsCommand, type Voice, withStore } from './command.ts';
import { expiryOf } from './expiry.ts';
import { CommandMistake } from './mistake.ts';
import { type Column, type ListOptions, listCommand, shownRows, shownTime } from './output-table.ts';
import { pages } from './pages.ts';

interface CreateOptions extends RecordsOptions {
  readonly account: string;
  readonly name?: string;
  readonly expires?: string;
}

interface KeyListOptions extends ListOptions {
  readonly account?: string;
  readonly search?: string;
  readonly all?: true;
}

/** `sluice keys …`. */
export const keysCommand = (voice: Voice): Command =>
  new Command('keys')
    .description('API keys of the records store')
    .addCommand(
      recordsCommand('create')
        .description('make a key and print it, once: only its SHA-256 is kept')
        .requiredOption(
          '-a, --account <ACCOUNT>',
          'its account, of the configuration or made with: sluice accounts create',
        )
        .option('-n, --name <NAME>', 'who or what uses it')
        .option('--expires <TIME>', '12h, 30d, 8w, 2027-01-31 or an ISO time')
        .action((options: CreateOptions) => create(options, voice)),
    )
    .addCommand(
      listCommand(recordsCommand('list'))
        .description(
          'list active keys, newest first; "used" is the time of the last use, to within half a minute',
        )
        .option('-a, --account <ACCOUNT>', 'keys of this account')
        .option('--search <TEXT>', 'a part of the name, the id or the account')
        .option('--all', 'also revoked and expired ones')
        .action((options: KeyListOptions) => list(options, voice)),
    )
    .addCommand(
      recordsCommand('revoke <ID...>')
        .description(
          'end keys for good, at every running instance within 5 seconds; ids are in: sluice keys list',
        )
        .action((ids: string[], options: RecordsOptions) => revoke(ids, options, voice)),
    )
    .addHelpText('after', '\nKeys of the configuration are not listed here.');

async function create({ account, name = '', expires, config }: CreateOptions, voice: Voice): Promise<void> {
  if (name.length > 200) throw new CommandMistake('--name: at most 200 characters');
  const expires_ms = expires === undefined ? null : expiryOf(expires, Date.now());
  await withStore({ config }, async ({ store, settings, operator }) => {
    const configured = settings.configured.map(({ id }) => id);
    const isThere = configured.includes(account) || (await store.accounts.find(account));
    if (!isThere)
      throw new CommandMistake(
        `there is no account '${account}'${suggested(account, configured, `make it with: sluice accounts create ${account} --config ${config}`)}`,
      );
    const { key, record } = await store.keys.create({ account, name, expires_ms }, operator);
    const until = expires_ms === null ? 'does not expire' : `expires ${shownTime(expires_ms)} UTC`;
    voice.print(key);
    voice.remark(
      `${record.id} of account ${account}; ${until}. The key is shown this once and cannot be shown again.`,
    );
  });
}

const columns: readonly Column<KeyRecord & { readonly state: string }>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'account', value: ({ account }) => account },
  { title: 'name', value: ({ name }) => name },
  { title: 'key', value: ({ hint }) => `…${hint}` },
  { title: 'created', value: ({ created_ms }) => shownTime(created_ms) },
  { title: 'used', value: ({ last_used_ms }) => shownTime(last_used_ms) },
  { title: 'expires', value: ({ expires_ms }) => shownTime(expires_ms) },
  { title: 'state', value: ({ state }) => state },
];

async function list(options: KeyListOptions, voice: Voice): Promise<void> {
  const { account, search, all } = options;
  await withStore(options, async ({ store, operator: { at_ms: now_ms } }) => {
    const query = {
      ...(account !== undefined && { account }),
      ...(search !== undefined && { search }),
      ...(!all && { usable_at_ms: now_ms }),
    };
    const { rows, hasMore } = await pages(options.limit, page => store.keys.list({ ...query, ...page }));
    const stateOf = ({ revoked_ms, expires_ms }: KeyRecord) =>
      revoked_ms !== null ? 'revoked' : expires_ms !== null && expires_ms <= now_ms ? 'expired' : 'active';
    voice.print(
      shownRows(
        rows.map(row => ({ ...row, state: stateOf(row) })),
        columns,
        options,
      ),
    );
    if (hasMore) voice.remark(`${await store.keys.count(query)} keys in all; --limit N shows more`);
    if (rows.length === 0)
      voice.remark(all ? 'no keys' : 'no usable keys; --all shows revoked and expired ones');
  });
}

async function revoke(ids: readonly string[], options: RecordsOptions, voice: Voice): Promise<void> {
  await withStore(options, async ({ store, operator }) => {
    for (const id of ids) {
      if (id.startsWith('sk-'))
        throw new CommandMistake('sluice keys revoke takes the id of a key (key_…), not the key');
      const { account, revoked_ms } = await store.keys.revoke(id, operator).catch((thrown): never => {
        throw thrown instanceof NotThere
          ? new CommandMistake(`${thrown.message}; ids are in: sluice keys list --all`)
          : thrown;
      });
      const when = revoked_ms === operator.at_ms ? '' : `, on ${shownTime(revoked_ms)} UTC already`;
      voice.print(`revoked ${id} of account ${account}${when}`);
    }
    voice.remark('every instance refuses it within 5 seconds');
  });
}
