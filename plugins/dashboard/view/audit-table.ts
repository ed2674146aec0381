import { type AuditEntry, limitTable } from '../../../src/plugin.ts';
import { customerOf } from '../access/roles.ts';
import type { PageRequest } from '../page-request.ts';
import { linkOf, minuteOf, muted, timeOf } from './format.ts';
import { html, type Part } from './html.ts';
import { panel } from './shell.ts';
import { type Column, emptyState, names, tableOf } from './table.ts';

/** Changes that are shown beside what was changed; the audit log has all. */
const max_changes = 10;

/** The changes of one key or provider for readers who see who made them, without amounts of money and the audit log for those who do not see these. */
export async function historyPanel(
  { context, scope }: PageRequest,
  what: 'key' | 'provider',
  id: string,
): Promise<Part> {
  const { money, internals } = scope.sees;
  if (!internals) return '';
  const actions = what === 'provider' ? (['provider.change'] as const) : undefined;
  const changes = await context.records.store.audit.list({ target: id, actions, limit: max_changes });
  const empty = emptyState(
    `No change of this ${what} is recorded.`,
    'Changes that are made here appear with who made them.',
  );
  const own = auditColumns.filter(({ title }) => title !== 'What');
  return panel(
    'history',
    'Changes',
    html`${tableOf(`Changes of this ${what}, newest first`, own, money ? changes : changes.map(withoutMoney), empty)}
${money && html`<p><a href="${linkOf('audit', { target: id })}">All changes of this ${what} in the audit log</a></p>`}`,
  );
}

/** The entry without amounts of money. */
export function withoutMoney(entry: AuditEntry): AuditEntry {
  const detail = JSON.parse(entry.detail, (name, value: unknown) =>
    /^usd_|^amount_usd$/.test(name) ? undefined : value,
  );
  return { ...entry, detail: JSON.stringify(detail) };
}

/** What was done, in words that its target follows. */
const actions: Readonly<Record<AuditEntry['action'], string>> = {
  'account.create': 'created the account',
  'account.change': 'changed the account',
  'account.disable': 'disabled the account',
  'account.enable': 'enabled the account',
  'account.credit': 'added credit to the account',
  'account.notify': 'told the contacts of the account',
  'key.create': 'issued the key',
  'key.import': 'imported the key',
  'key.change': 'changed the key',
  'key.rotate': 'rotated the key',
  'key.revoke': 'revoked the key',
  'admin-key.create': 'made the admin key',
  'admin-key.revoke': 'revoked the admin key',
  'customer.invite': 'invited a customer to the portal of',
  'customer.accept': 'accepted an invitation to the portal of',
  'customer.password': 'changed the own password at the portal of',
  'customer.remove': 'removed a sign-in at the portal of',
  'provider.change': 'changed the service of the provider',
  'request.cancel': 'ended the request',
  'sign-in.accept': 'signed in',
  'sign-in.refuse': 'was refused to sign in',
  'sign-in.end': 'signed out',
};

/** Changes with who made them, and from where. */
export const auditColumns: readonly Column<AuditEntry>[] = [
  { title: 'When', cell: ({ at_ms }) => timeOf(at_ms) },
  names('Who', ({ actor }) => actor, { key: 'who' }),
  names('From', ({ address }) => address, { key: 'from' }),
  { title: 'Change', cell: ({ action }) => actions[action] ?? action },
  names('What', targetOf, { key: 'target' }),
  names('Detail', entry => detailOf(entry), { key: 'detail' }),
];

/** The same for customers: of those who run the service neither names nor addresses are told, and the account is always the reader's. */
export const customerColumns: readonly Column<AuditEntry>[] = [
  { title: 'When', cell: ({ at_ms }) => timeOf(at_ms) },
  names('Who', ({ actor }) => customerOf(actor) ?? muted('the service'), { key: 'who' }),
  names('From', ({ actor, address }) => customerOf(actor) !== undefined && address, { key: 'from' }),
  { title: 'Change', cell: ({ action }) => actions[action].replace(/ the portal of$/, ' the portal') },
  names('Key', ({ action, target }) => action.startsWith('key.') && html`<code>${target}</code>`, {
    key: 'target',
  }),
  names('Detail', entry => detailOf(entry, ['account']), { key: 'detail' }),
];

function targetOf({ action, target }: AuditEntry): Part {
  if (action.startsWith('sign-in.')) return target;
  const [group = ''] = action.split('.');
  const page = group === 'customer' ? 'account' : group.replace('admin-', '');
  const link = linkOf(page, { [page === 'provider' ? 'name' : 'id']: target });
  return html`<a href="${link}">${target}</a>`;
}

type Fields = Readonly<Record<string, unknown>>;

/** Lines of what was set, with the old value where the entry has one, without the fields `leftOut`. */
function detailOf({ action, detail }: AuditEntry, leftOut: readonly string[] = []): Part {
  const missing = action.startsWith('key.') ? 'not limited' : 'as the plan';
  const { before, ...fields } = JSON.parse(detail) as Fields & { readonly before?: Fields };
  const lines = Object.entries(fields).flatMap(([name, value]) => {
    if (leftOut.includes(name)) return [];
    if (name === 'limits')
      return limitLines(value as Fields, before && ((before[name] ?? {}) as Fields), missing);
    if (before && Object.hasOwn(before, name))
      return `${titleOf(name)}: ${shown(name, before[name])} → ${shown(name, value)}`;
    return value === '' ? [] : `${titleOf(name)}: ${shown(name, value)}`;
  });
  return lines.map((line, at) => html`${at > 0 && html`<br>`}${line}`);
}

/** Limits, or where `before` is known those that differ; `missing` stands for one that is missing on a side. */
function limitLines(limits: Fields, before: Fields | undefined, missing: string): string[] {
  const now = limitsByTitle(limits);
  if (!before) return [...now].map(([title, amount]) => `${title}: ${amount}`);
  const then = limitsByTitle(before);
  const amountOf = (amounts: ReadonlyMap<string, string>, title: string) => amounts.get(title) ?? missing;
  return [...new Set([...then.keys(), ...now.keys()])]
    .filter(title => then.get(title) !== now.get(title))
    .map(title => `${title}: ${amountOf(then, title)} → ${amountOf(now, title)}`);
}

/** Amounts by the titles of their limits, with the model of those on a single one. */
function limitsByTitle({ models = {}, ...overall }: Fields): ReadonlyMap<string, string> {
  const amounts = (limits: Fields, model = '') =>
    Object.entries(limits).map(([name, value]): [string, string] => [
      `${titleOf(name)}${model && ` of ${model}`}`,
      value === null ? 'not limited' : shown(name, value),
    ]);
  const ofModels = Object.entries(models as Readonly<Record<string, Fields>>);
  return new Map([...amounts(overall), ...ofModels.flatMap(([model, limits]) => amounts(limits, model))]);
}

const titles: Readonly<Record<string, string>> = {
  amount_usd: 'dollars added',
  display_name: 'display name',
  new_id: 'new key',
  old_expires_ms: 'the old key ends',
};

function titleOf(name: string): string {
  if (Object.hasOwn(limitTable, name)) return limitTable[name as keyof typeof limitTable].title;
  return titles[name] ?? name.replace(/_ms$/, '');
}

function shown(name: string, value: unknown): string {
  if (value === null) return name === 'expires_ms' ? 'never' : 'none';
  if (value === '') return 'none';
  if (name.endsWith('_ms') && typeof value === 'number') return minuteOf(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
