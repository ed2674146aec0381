import { suggested } from '../diagnostics/suggestion.ts';
import { NotThere } from '../stores/records/account-records.ts';
import type { KeyRecord } from '../stores/records/key-records.ts';
import { asksForHelp, type CommandContext, parsed, type Voice, withContext } from './command.ts';
import { expiryOf } from './expiry.ts';
import { CommandMistake, noSuchCommand } from './flags.ts';
import { type Column, formatOf, shownRows, shownTime } from './output-table.ts';
import { pages } from './pages.ts';

const help = `sluice keys: API keys of the records store (stores.records in the configuration)

  sluice keys create --account A [--name N] [--expires 30d] --config FILE
      makes a key and prints it, once: only its SHA-256 is kept. --expires takes 12h, 30d, 8w, 2027-01-31 or an ISO time
  sluice keys list [--account A] [--search TEXT] [--all] [--limit N] [--format table|csv|json] --config FILE
      usable keys, newest first; --all: also revoked and expired ones. "used" is the time of the last use, to within half a minute
  sluice keys revoke ID [ID …] --config FILE
      ends keys for good; every running instance refuses them within 5 seconds

A is an account of the configuration, or one made with: sluice accounts create A
Keys in the configuration itself are not listed here: they are there.
`;

const actions = ['create', 'list', 'revoke'].map(action => `keys ${action}`);

/** `sluice keys …`. */
export async function keysCommand(args: readonly string[], voice: Voice): Promise<void> {
  const [action, ...rest] = args;
  if (action === undefined || action === 'help' || asksForHelp(args)) return voice.print(help);
  switch (action) {
    case 'create':
      return create(rest, voice);
    case 'list':
      return list(rest, voice);
    case 'revoke':
      return revoke(rest, voice);
    default:
      throw noSuchCommand(`keys ${action}`, actions, help);
  }
}

async function create(args: readonly string[], voice: Voice): Promise<void> {
  const { values, positionals } = parsed('keys create', args, {
    account: { type: 'string', short: 'a' },
    name: { type: 'string', short: 'n' },
    expires: { type: 'string' },
  });
  const { account, name = '', expires } = values;
  if (positionals.length > 0)
    throw new CommandMistake(
      `sluice keys create: what is '${positionals[0]}'? A name is given as --name NAME`,
    );
  if (account === undefined) throw new CommandMistake('sluice keys create: --account A is missing');
  if (name.length > 200) throw new CommandMistake('--name: at most 200 characters');
  const expires_ms = expires === undefined ? null : expiryOf(expires, Date.now());
  await withContext('keys create', values.config, voice, async ({ store, settings, operator }) => {
    const configured = settings.configured.map(({ id }) => id);
    const isThere = configured.includes(account) || (await store.accounts.find(account));
    if (!isThere)
      throw new CommandMistake(
        `there is no account '${account}'${suggested(account, configured, `make it with: sluice accounts create ${account} --config ${values.config}`)}`,
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

async function list(args: readonly string[], voice: Voice): Promise<void> {
  const { values } = parsed('keys list', args, {
    account: { type: 'string', short: 'a' },
    search: { type: 'string' },
    all: { type: 'boolean' },
    limit: { type: 'string' },
    format: { type: 'string' },
    csv: { type: 'boolean' },
  });
  const format = formatOf(values.format, values.csv);
  await withContext('keys list', values.config, voice, async ({ store, operator }: CommandContext) => {
    const now_ms = operator.at_ms;
    const query = {
      ...(values.account !== undefined && { account: values.account }),
      ...(values.search !== undefined && { search: values.search }),
      ...(!values.all && { usable_at_ms: now_ms }),
    };
    const { rows, hasMore } = await pages(values.limit, page => store.keys.list({ ...query, ...page }));
    const stateOf = ({ revoked_ms, expires_ms }: KeyRecord) =>
      revoked_ms !== null ? 'revoked' : expires_ms !== null && expires_ms <= now_ms ? 'expired' : 'usable';
    voice.print(
      shownRows(
        rows.map(row => ({ ...row, state: stateOf(row) })),
        columns,
        format,
      ),
    );
    if (hasMore) voice.remark(`${await store.keys.count(query)} keys in all; --limit N shows more`);
    if (rows.length === 0)
      voice.remark(values.all ? 'no keys' : 'no usable keys; --all shows revoked and expired ones');
  });
}

async function revoke(args: readonly string[], voice: Voice): Promise<void> {
  const { values, positionals: ids } = parsed('keys revoke', args, {});
  if (ids.length === 0) throw new CommandMistake('sluice keys revoke: which? Ids are in: sluice keys list');
  await withContext('keys revoke', values.config, voice, async ({ store, operator }) => {
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
