import { day_ms, dayOf, type KeyRecord, type KeyUse } from '../../../src/plugin.ts';
import type { PageRequest } from '../page-request.ts';
import { linkOf, muted, numberOf, timeOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { dollars } from './money.ts';
import { type Column, tableOf } from './table.ts';

interface KeyTableSetup {
  readonly now_ms: number;
  /** Lists of one account name it nowhere. */
  readonly columns: 'all' | 'of one account';
  /** From `usesOfKeys`. */
  readonly uses: ReadonlyMap<string, KeyUse>;
  readonly seesMoney: boolean;
  readonly mayChange: boolean;
  /** Whether there is a page `key` to link to. */
  readonly hasPages: boolean;
}

/** Table of keys with their actions. */
export function keyTable(label: string, keys: readonly KeyRecord[], setup: KeyTableSetup): Html {
  const { now_ms, columns, uses, seesMoney, mayChange, hasPages } = setup;
  const state: Column<KeyRecord> = { title: 'State', cell: key => stateOf(key, now_ms) };
  const table = tableOf(
    label,
    [
      ...(columns === 'all' && mayChange ? [chooseColumn] : []),
      hasPages ? linkedNameColumn : nameColumn,
      ...(columns === 'all' ? [accountColumn] : []),
      ...timeColumns,
      ...useColumns(uses).slice(0, seesMoney ? 2 : 1),
      state,
      ...(mayChange ? [actionColumn(now_ms)] : []),
    ],
    keys,
  );
  return html`${table}<p class="muted">Requests${seesMoney && ' and cost'} are those of the last ${use_days} days.</p>`;
}

const chooseColumn: Column<KeyRecord> = {
  title: 'Choose',
  cell: ({ id, name, revoked_ms }) =>
    revoked_ms === null &&
    html`<input type="checkbox" name="id" value="${id}" aria-label="Choose ${name || id}">`,
};

const named = (name: Part, { id, hint }: KeyRecord): Html =>
  html`${name} <code class="muted">…${hint}</code><br><code class="muted nowrap">${id}</code>`;

/** For any table of keys. */
export const nameColumn: Column<KeyRecord> = {
  title: 'Key',
  cell: key => named(key.name || muted('no name'), key),
  isName: true,
};

const linkedNameColumn: Column<KeyRecord> = {
  ...nameColumn,
  cell: key => named(html`<a href="${linkOf('key', { id: key.id })}">${key.name || 'no name'}</a>`, key),
};

/** For any table of keys. */
export const accountColumn: Column<KeyRecord> = {
  title: 'Account',
  cell: ({ account }) => html`<a href="${linkOf('account', { id: account })}">${account}</a>`,
  isName: true,
};

/** Tables of keys have many columns: a time may take two lines, so that the last ones are not cut off. */
const foldedTime = (at_ms: number | null): Html => html`<span class="folded">${timeOf(at_ms)}</span>`;

/** For any table of keys. */
export const timeColumns: readonly Column<KeyRecord>[] = [
  { title: 'Created', cell: ({ created_ms }) => foldedTime(created_ms) },
  { title: 'Expires', cell: ({ expires_ms }) => foldedTime(expires_ms) },
  { title: 'Last used', cell: ({ last_used_ms }) => foldedTime(last_used_ms) },
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
${isUsable(key, now_ms) && html`<a href="${linkOf('rotate', { id })}" aria-label="Rotate ${name || id}">Rotate…</a>`}
<a href="${linkOf('revoke', { id })}" aria-label="Revoke ${name || id}">Revoke…</a>
</div>`;
  },
});
