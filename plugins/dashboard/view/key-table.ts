import { day_ms, dayOf, type KeyRecord, type KeyUse } from '../../../src/plugin.ts';
import type { PageRequest } from '../page-request.ts';
import { accountLink, linkOf, numberOf, timeOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { recordList, type Sorting } from './list.ts';
import { type Column, money, names, numbers } from './table.ts';

interface KeyListSetup {
  readonly sorting: Sorting;
  /** Links to the pages beside it. */
  readonly pager: Part;
  /** Whether it names accounts: lists of one account do so nowhere. */
  readonly ofAccounts?: boolean;
  /** Whether keys can be chosen, for the form with the id `chosen`. */
  readonly canChoose?: boolean;
}

/** The list of keys with their use, and with what its reader may do with them. */
export async function keyList(
  request: PageRequest,
  keys: readonly KeyRecord[],
  { sorting, pager, ofAccounts = false, canChoose = false }: KeyListSetup,
): Promise<Html> {
  const { context, scope } = request;
  const now_ms = context.clock.epoch_ms();
  const { money } = scope.sees;
  const uses = await context.records.store.usage.ofKeys(
    keys.map(({ id }) => id),
    dayOf(now_ms - (use_days - 1) * day_ms),
  );
  const columns = [
    ...(canChoose ? [chooseColumn] : []),
    nameColumn,
    ...(ofAccounts ? [accountColumn] : []),
    ...timeColumns,
    numbers<KeyRecord>('Requests', ({ id }) => numberOf(uses.get(id)?.requests ?? 0), { key: 'requests' }),
    ...(money ? [costColumn(uses)] : []),
    { title: 'State', key: 'state', cell: (key: KeyRecord) => stateOf(key, now_ms) },
    ...(scope.may.change ? [actionColumn(now_ms)] : []),
  ];
  return html`${recordList(request, { label: 'Keys', columns, rows: keys, sorting, pager })}<p class="muted">Requests${money && ' and cost'} are those of the last ${use_days} days.</p>`;
}

const chooseColumn: Column<KeyRecord> = {
  title: 'Choose',
  cell: ({ id, name, revoked_ms }) =>
    revoked_ms === null &&
    html`<input type="checkbox" name="id" value="${id}" form="chosen" aria-label="Choose ${name || id}">`,
};

const nameColumn: Column<KeyRecord> = names(
  'Key',
  ({ id, name, hint }) =>
    html`<a href="${linkOf('key', { id })}">${name || 'no name'}</a> <code class="muted">…${hint}</code><br><code class="muted nowrap">${id}</code>`,
  { key: 'name', orders: ['asc'] },
);

/** For any table of what belongs to accounts. */
export const accountColumn: Column<{ readonly account: string }> = names('Account', ({ account }) =>
  accountLink(account),
);

/** Tables of keys have many columns: a time may take two lines, so that the last ones are not cut off. */
const foldedTime = (at_ms: number | null): Html => html`<span class="folded">${timeOf(at_ms)}</span>`;

const timeColumns: readonly Column<KeyRecord>[] = [
  { title: 'Created', key: 'newest', orders: ['desc'], cell: ({ created_ms }) => foldedTime(created_ms) },
  { title: 'Expires', key: 'expires', cell: ({ expires_ms }) => foldedTime(expires_ms) },
  { title: 'Last used', key: 'used', orders: ['desc'], cell: ({ last_used_ms }) => foldedTime(last_used_ms) },
];

/** Days, with the present one, over which the use of keys is added up. */
const use_days = 30;

const costColumn = (uses: ReadonlyMap<string, KeyUse>): Column<KeyRecord> =>
  money('Cost', ({ id }) => uses.get(id)?.cost_usd ?? '0', { key: 'cost' });

/** State of a key, as a badge. */
export function stateOf({ revoked_ms, expires_ms }: KeyRecord, now_ms: number): Part {
  if (revoked_ms !== null) return html`<span class="state bad">revoked</span>`;
  return expires_ms !== null && expires_ms <= now_ms
    ? html`<span class="state warn">expired</span>`
    : html`<span class="state good">active</span>`;
}

/** Whether a key can be used at this time. */
export const isUsable = ({ revoked_ms, expires_ms }: KeyRecord, now_ms: number): boolean =>
  revoked_ms === null && (expires_ms === null || expires_ms > now_ms);

const actionColumn = (now_ms: number): Column<KeyRecord> => ({
  title: 'Action',
  cell: key => {
    const { id, name, revoked_ms } = key;
    if (revoked_ms !== null) return '';
    return html`<div class="actions">
${isUsable(key, now_ms) && html`<a href="${linkOf('key', { id, do: 'rotate' })}" aria-label="Rotate ${name || id}">Rotate…</a>`}
<a href="${linkOf('key', { id, do: 'revoke' })}" aria-label="Revoke ${name || id}">Revoke…</a>
</div>`;
  },
});
