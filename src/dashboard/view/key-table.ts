import type { KeyRecord } from '../../stores/records/key-records.ts';
import { linkOf, muted, timeOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { type Column, tableOf } from './table.ts';

/** Table of keys with their actions; `columns` is for lists of several accounts. */
export function keyTable(
  label: string,
  keys: readonly KeyRecord[],
  now_ms: number,
  columns: 'all' | 'of one account',
): Html {
  const state: Column<KeyRecord> = { title: 'State', cell: key => stateOf(key, now_ms) };
  return tableOf(
    label,
    [nameColumn, ...(columns === 'all' ? [accountColumn] : []), ...timeColumns, state, actionColumn],
    keys,
  );
}

const nameColumn: Column<KeyRecord> = {
  title: 'Key',
  cell: ({ id, name, hint }) =>
    html`${name || muted('no name')} <code class="muted">…${hint}</code><br><code class="muted nowrap">${id}</code>`,
  isName: true,
};

const accountColumn: Column<KeyRecord> = {
  title: 'Account',
  cell: ({ account }) => html`<a href="${linkOf('account', { id: account })}">${account}</a>`,
  isName: true,
};

const timeColumns: readonly Column<KeyRecord>[] = [
  { title: 'Created', cell: ({ created_ms }) => timeOf(created_ms) },
  { title: 'Expires', cell: ({ expires_ms }) => timeOf(expires_ms) },
  { title: 'Last used', cell: ({ last_used_ms }) => timeOf(last_used_ms) },
];

function stateOf({ revoked_ms, expires_ms }: KeyRecord, now_ms: number): Part {
  if (revoked_ms !== null) return html`<span class="state bad">revoked</span>`;
  return expires_ms !== null && expires_ms <= now_ms
    ? html`<span class="state warn">expired</span>`
    : html`<span class="state good">active</span>`;
}

const actionColumn: Column<KeyRecord> = {
  title: 'Action',
  cell: ({ id, name, revoked_ms }) =>
    revoked_ms === null &&
    html`<a href="${linkOf('revoke', { id })}" aria-label="Revoke ${name || id}">Revoke…</a>`,
};
