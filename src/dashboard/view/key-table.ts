import { day_ms, dayOf } from '../../stores/records/calendar-day.ts';
import type { KeyRecord } from '../../stores/records/key-record.ts';
import type { KeyUse } from '../../stores/records/usage-records.ts';
import type { PageRequest } from '../page-request.ts';
import { linkOf, muted, numberOf, timeOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { dollars } from './money.ts';
import { type Column, tableOf } from './table.ts';

/** Table of keys with their actions; `columns` is for lists of several accounts, and `uses` from `usesOfKeys`. */
export function keyTable(
  label: string,
  keys: readonly KeyRecord[],
  now_ms: number,
  columns: 'all' | 'of one account',
  uses: ReadonlyMap<string, KeyUse>,
): Html {
  const state: Column<KeyRecord> = { title: 'State', cell: key => stateOf(key, now_ms) };
  const table = tableOf(
    label,
    [
      ...(columns === 'all' ? [chooseColumn] : []),
      nameColumn,
      ...(columns === 'all' ? [accountColumn] : []),
      ...timeColumns,
      ...useColumns(uses),
      state,
      actionColumn(now_ms),
    ],
    keys,
  );
  return html`${table}<p class="muted">Requests and cost are those of the last ${use_days} days.</p>`;
}

const chooseColumn: Column<KeyRecord> = {
  title: 'Choose',
  cell: ({ id, name, revoked_ms }) =>
    revoked_ms === null &&
    html`<input type="checkbox" name="id" value="${id}" aria-label="Choose ${name || id}">`,
};

/** For any table of keys. */
export const nameColumn: Column<KeyRecord> = {
  title: 'Key',
  cell: ({ id, name, hint }) =>
    html`${name || muted('no name')} <code class="muted">…${hint}</code><br><code class="muted nowrap">${id}</code>`,
  isName: true,
};

/** For any table of keys. */
export const accountColumn: Column<KeyRecord> = {
  title: 'Account',
  cell: ({ account }) => html`<a href="${linkOf('account', { id: account })}">${account}</a>`,
  isName: true,
};

/** For any table of keys. */
export const timeColumns: readonly Column<KeyRecord>[] = [
  { title: 'Created', cell: ({ created_ms }) => timeOf(created_ms) },
  { title: 'Expires', cell: ({ expires_ms }) => timeOf(expires_ms) },
  { title: 'Last used', cell: ({ last_used_ms }) => timeOf(last_used_ms) },
];

/** Days, with the present one, over which the use of keys is added up. */
const use_days = 30;

/** What these keys have been used for. */
export const usesOfKeys = (
  { context: { records, clock } }: PageRequest,
  keys: readonly KeyRecord[],
): Promise<ReadonlyMap<string, KeyUse>> =>
  records.store.usage.ofKeys(
    keys.map(({ id }) => id),
    dayOf(clock.epoch_ms() - (use_days - 1) * day_ms),
  );

const useColumns = (uses: ReadonlyMap<string, KeyUse>): readonly Column<KeyRecord>[] => [
  {
    title: 'Requests',
    cell: ({ id }) => numberOf(uses.get(id)?.requests ?? 0),
    isNumber: true,
  },
  {
    title: 'Cost',
    cell: ({ id }) => dollars(uses.get(id)?.cost_usd ?? '0'),
    isNumber: true,
  },
];

function stateOf({ revoked_ms, expires_ms }: KeyRecord, now_ms: number): Part {
  if (revoked_ms !== null) return html`<span class="state bad">revoked</span>`;
  return expires_ms !== null && expires_ms <= now_ms
    ? html`<span class="state warn">expired</span>`
    : html`<span class="state good">active</span>`;
}

const actionColumn = (now_ms: number): Column<KeyRecord> => ({
  title: 'Action',
  cell: ({ id, name, revoked_ms, expires_ms }) => {
    if (revoked_ms !== null) return '';
    const isUsable = expires_ms === null || expires_ms > now_ms;
    return html`<div class="actions">
${isUsable && html`<a href="${linkOf('rotate', { id })}" aria-label="Rotate ${name || id}">Rotate…</a>`}
<a href="${linkOf('revoke', { id })}" aria-label="Revoke ${name || id}">Revoke…</a>
</div>`;
  },
});
