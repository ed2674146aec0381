import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { auditTable } from '../view/audit-table.ts';
import { type Html, html } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** Changes to accounts and keys with their authors, newest first. */
export const auditPage: Page = { name: 'audit', get: listed, readers: ['admin', 'viewer'] };

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const target = query.get('target')?.trim() || undefined;
  const { rows, pager } = await listPage(request, page =>
    context.records.store.audit.list({ ...page, target }),
  );
  return pageResponse(request, {
    title: 'Audit log',
    section: 'audit',
    body: html`${inMemoryNotice(context)}
${filter(target)}
<section class="panel" aria-label="Changes">
${auditTable('Changes, newest first', rows, noChanges(target))}
${pager()}
</section>`,
  });
}

const filter = (target = ''): Html => html`<form method="get" action="audit" class="row panel" role="search">
<label>Account or key <input name="target" value="${target}" placeholder="all" autocomplete="off" spellcheck="false"></label>
<button>Show</button>
</form>`;

const noChanges = (target: string | undefined): Html =>
  target === undefined
    ? emptyState(
        'Nothing has been changed yet.',
        html`Accounts and keys are made under <a href="accounts">Accounts</a>; each change is written down here.`,
      )
    : emptyState(
        `No change of “${target}” is recorded.`,
        html`Give the whole id, or <a href="audit">show all changes</a>.`,
      );
