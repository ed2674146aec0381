import type { Page } from '../page-request.ts';
import { auditColumns, customerColumns, withoutMoney } from '../view/audit-table.ts';
import { linkOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { emptyState } from '../view/table.ts';
import { accountOf, accountResponse } from './account-tabs.ts';
import { changesPanel } from './audit.ts';

/** The changes of an account; customers see those of its keys and sign-ins, without the names and the addresses of operators. */
export const historyPage: Page = {
  name: 'history',
  get: async request => {
    const { context, scope } = request;
    const account = await accountOf(request);
    const of = scope.account ? { customers_of: account.id } : { target: account.id };
    const { rows, pager } = await listPage(request, page =>
      context.records.store.audit.list({ ...page, ...of }),
    );
    const empty = emptyState('Nothing has been changed yet.', 'Changes appear here with who made them.');
    const list = {
      columns: scope.account ? customerColumns : auditColumns,
      rows: scope.sees.money ? rows : rows.map(withoutMoney),
      empty,
      pager: pager(),
    };
    return accountResponse(request, account, {
      tab: 'history',
      body: html`${changesPanel(request, list)}
${scope.sees.internals && scope.sees.money && html`<p><a href="${linkOf('audit', { target: account.id })}">The same in the audit log</a>, with filters and CSV</p>`}`,
    });
  },
};
