import { Command, Option } from 'commander';
import { notOneOf } from '../common/config-error.ts';
import { type AdminKeyRecord, type AdminKeyRecords, isAdminKeyName } from '../records/admin-key-records.ts';
import { type OperatorRole, operatorRoles } from '../records/operator-role.ts';
import {
  type CommandContext,
  CommandMistake,
  inStore,
  UsageMistake,
  type Voice,
  withConfig,
} from './command.ts';
import { expiryOf } from './key-times.ts';
import { endOf, stateOf } from './keys-command.ts';
import { type Column, firstRows, type ListOptions, shownRows, shownTime, withList } from './output-table.ts';
import { refusing } from './record-changes.ts';

/** `sluice admin-keys …`. */
export function adminKeysCommand(voice: Voice): Command {
  const keys = new Command('admin-keys')
    .description('keys of the Admin API, in the records store')
    .addHelpText(
      'after',
      `
A key that is made or revoked is so at once, at every instance. Keys of the configuration (admin_api.keys) are not listed here.`,
    );
  withConfig(keys.command('create <NAME>'))
    .description('make a key and print it once: only its SHA-256 is kept')
    .addOption(
      new Option('--role <ROLE>', 'what it may do')
        .choices(operatorRoles)
        .argParser(roleOf)
        .makeOptionMandatory(),
    )
    .option('--expires <TIME>', '12h, 30d, 8w, 2027-01-31 or an ISO time', text =>
      expiryOf('--expires', text),
    )
    .action(inStore(create, voice));
  withList(withConfig(keys.command('list')))
    .description('list active keys, newest first; "used" is the time of the last use, to within a minute')
    .option('--search <TEXT>', 'a part of the name or the id')
    .option('--all', 'also revoked and expired ones')
    .action(inStore(list, voice));
  withConfig(keys.command('revoke <ID...>'))
    .description('end keys for good; ids are in: sluice admin-keys list')
    .action(inStore(revoke, voice));
  return keys;
}

function roleOf(text: string): OperatorRole {
  const role = operatorRoles.find(name => name === text);
  if (role) return role;
  throw new UsageMistake(`--role ${notOneOf(text, operatorRoles)}`);
}

function adminKeysIn({ store }: CommandContext): AdminKeyRecords {
  if (store.adminKeys) return store.adminKeys;
  throw new CommandMistake('this records store keeps no keys of the Admin API: list them in admin_api.keys');
}

async function create(
  context: CommandContext,
  name: string,
  { role, expires }: { readonly role: OperatorRole; readonly expires?: number },
): Promise<void> {
  if (!isAdminKeyName(name))
    throw new UsageMistake('a name has 1 to 100 characters, none of them control characters');
  const wanted = { name, role, expires_ms: expires ?? null };
  const { key, record } = await refusing(() => adminKeysIn(context).create(wanted, context.operator));
  context.print(key);
  context.remark(
    `${record.id}, role ${role}; ${endOf(record)}. The key is shown this once and cannot be shown again.`,
  );
}

const columns = (now_ms: number): readonly Column<AdminKeyRecord>[] => [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'role', value: ({ role }) => role },
  { title: 'key', value: ({ hint }) => `…${hint}` },
  { title: 'created', value: ({ created_ms }) => shownTime(created_ms) },
  { title: 'used', value: ({ last_used_ms }) => shownTime(last_used_ms) },
  { title: 'expires', value: ({ expires_ms }) => shownTime(expires_ms) },
  { title: 'state', value: key => stateOf(key, now_ms) },
];

interface AdminKeyListOptions extends ListOptions {
  readonly search?: string;
  readonly all?: true;
}

async function list(context: CommandContext, options: AdminKeyListOptions): Promise<void> {
  const { at_ms: now_ms } = context.operator;
  const query = { search: options.search, usable_at_ms: options.all ? undefined : now_ms };
  const { rows, hasMore } = await firstRows(options.limit, page =>
    adminKeysIn(context).list({ ...query, ...page }),
  );
  context.print(shownRows(rows, columns(now_ms), options));
  if (hasMore) context.remark(`the newest ${options.limit}; --limit shows more`);
}

async function revoke(context: CommandContext, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const { name } = await refusing(() => adminKeysIn(context).revoke(id, context.operator));
    context.print(`revoked ${id}, ${name}`);
  }
}
