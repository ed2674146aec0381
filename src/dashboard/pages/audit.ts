import type { AuditEntry } from '../../stores/records/audit-log.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { linkOf, minuteOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';

/** Changes to accounts and keys with their authors, newest first. */
export const auditPage: Page = { name: 'audit', get: listed };

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context } = request;
  const { rows, pager } = await listPage(request, page => context.records.store.audit.list(page));
  return pageResponse(request, {
    title: 'Audit log',
    section: 'audit',
    body: html`${inMemoryNotice(context)}
<section class="panel" aria-label="Changes">
${tableOf('Changes, newest first', columns, rows, noChanges)}
${pager()}
</section>`,
  });
}

const noChanges = emptyState(
  'Nothing has been changed yet.',
  html`Accounts and keys are made under <a href="accounts">Accounts</a>; each change is written down here.`,
);

const actions: Readonly<Record<AuditEntry['action'], string>> = {
  'account.create': 'created the account',
  'account.change': 'changed the account',
  'key.create': 'issued the key',
  'key.rotate': 'rotated the key',
  'key.revoke': 'revoked the key',
};

const columns: readonly Column<AuditEntry>[] = [
  { title: 'When (UTC)', cell: ({ at_ms }) => timeOf(at_ms) },
  { title: 'Who', cell: ({ actor }) => actor, isName: true },
  { title: 'Change', cell: ({ action }) => actions[action] ?? action },
  { title: 'What', cell: targetOf, isName: true },
  { title: 'Detail', cell: ({ detail }) => detailOf(detail), isName: true },
];

function targetOf({ action, target }: AuditEntry): Html {
  const link = action.startsWith('account.')
    ? linkOf('account', { id: target })
    : linkOf('keys', { search: target, all: 'yes' });
  return html`<a href="${link}">${target}</a>`;
}

/** Readable form of an audit entry's detail, where there is one. */
function detailOf(detail: string): string {
  const fields = Object.entries(JSON.parse(detail) as Record<string, unknown>);
  return fields
    .filter(([, value]) => value !== '' && JSON.stringify(value) !== '{}')
    .map(([name, value]) => `${name.replace(/_ms$/, '')}: ${shown(name, value)}`)
    .join(', ');
}

function shown(name: string, value: unknown): string {
  if (value === null) return name === 'expires_ms' ? 'never' : 'none';
  if (name.endsWith('_ms') && typeof value === 'number') return minuteOf(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
