import type { AuditEntry } from '../../../src/plugin.ts';
import { customerOf } from '../access/roles.ts';
import type { Page } from '../page-request.ts';
import { actions, detailOf } from '../view/audit-table.ts';
import { muted, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';
import { portalPage, portalResponse } from './portal-page.ts';

/** Who has done what with the keys and the sign-ins of the account. */
export const historyPage: Page = portalPage({
  name: 'history',
  get: async request => {
    const { account, context } = request;
    const { audit } = context.records.store;
    const { rows, pager } = await listPage(request, page =>
      audit.list({ customers_of: account.id, ...page }),
    );
    return portalResponse(request, {
      title: 'History',
      section: 'history',
      body: html`<section class="panel" aria-label="Changes">
${tableOf('Changes, newest first', columns, rows, emptyState('Nothing has been changed yet.', 'Changes of keys and sign-ins appear here with who made them.'))}
${pager()}
</section>`,
    });
  },
});

/** A detail without the account, which is always the reader's. */
function ofOwn(detail: string): string {
  const { account: _, ...fields } = JSON.parse(detail) as Record<string, unknown>;
  return JSON.stringify(fields);
}

/** Of those who run the service neither the names nor the addresses are told. */
const columns: readonly Column<AuditEntry>[] = [
  { title: 'When', cell: ({ at_ms }) => timeOf(at_ms) },
  { title: 'Who', cell: ({ actor }) => customerOf(actor) ?? muted('the service'), isName: true },
  {
    title: 'From',
    cell: ({ actor, address }) => customerOf(actor) !== undefined && address,
    isName: true,
  },
  { title: 'Change', cell: ({ action }) => actions[action].replace(/ the portal of$/, ' the portal') },
  {
    title: 'Key',
    cell: ({ action, target }) => action.startsWith('key.') && html`<code>${target}</code>`,
    isName: true,
  },
  { title: 'Detail', cell: entry => detailOf({ ...entry, detail: ofOwn(entry.detail) }), isName: true },
];
