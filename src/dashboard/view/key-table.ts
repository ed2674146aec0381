import type { KeyRecord } from '../../stores/records/key-records.ts';
import { linkOf, timeOf } from './format.ts';
import { type Html, html } from './html.ts';
import { type Column, tableOf } from './table.ts';

export type KeyState = 'active' | 'expired' | 'revoked';

/** The state of a key at this time. */
export function stateOf({ revoked_ms, expires_ms }: KeyRecord, now_ms: number): KeyState {
  if (revoked_ms !== null) return 'revoked';
  return expires_ms !== null && expires_ms <= now_ms ? 'expired' : 'active';
}

const tones: Readonly<Record<KeyState, string>> = { active: 'good', expired: 'warn', revoked: 'bad' };

/** Table of keys with their actions; `withAccount` is for lists of several accounts. */
export function keyTable(
  label: string,
  keys: readonly KeyRecord[],
  now_ms: number,
  columns: 'all' | 'of one account',
): Html {
  const account: Column<KeyRecord> = {
    title: 'Account',
    cell: key => html`<a href="${linkOf('account', { id: key.account })}">${key.account}</a>`,
    isName: true,
  };
  return tableOf(label, [nameColumn, ...(columns === 'all' ? [account] : []), ...timeColumns(now_ms)], keys);
}

const nameColumn: Column<KeyRecord> = {
  title: 'Key',
  cell: ({ id, name, hint }) =>
    html`${name || html`<span class="muted">no name</span>`} <code class="muted">…${hint}</code><br><code class="muted nowrap">${id}</code>`,
  isName: true,
};

const timeColumns = (now_ms: number): readonly Column<KeyRecord>[] => [
  { title: 'Created', cell: ({ created_ms }) => timeOf(created_ms) },
  {
    title: 'Expires',
    cell: ({ expires_ms }) =>
      expires_ms === null ? html`<span class="muted">never</span>` : timeOf(expires_ms),
  },
  {
    title: 'Last used',
    cell: ({ last_used_ms }) =>
      last_used_ms === null ? html`<span class="muted">never</span>` : timeOf(last_used_ms),
  },
  {
    title: 'State',
    cell: key => {
      const state = stateOf(key, now_ms);
      return html`<span class="state ${tones[state]}">${state}</span>`;
    },
  },
  {
    title: 'Action',
    cell: key =>
      stateOf(key, now_ms) !== 'revoked' &&
      html`<a href="${linkOf('revoke', { id: key.id })}" aria-label="Revoke ${key.name || key.id}">Revoke…</a>`,
  },
];
