import { type AuditEntry, csvOf } from '../../../src/plugin.ts';
import { auditFiltersOf, auditQueryOf } from '../audit-filters.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { fileResponse, type PageResponse } from '../page-response.ts';
import { auditReaders } from './audit.ts';

/** Entries of a download, which is built in memory; the newest ones. */
export const max_exported = 20_000;
/** Entries that are read at once. */
const batch = 1000;

/** Entries of the audit log as a file, with the filters of the page. */
export const auditExportPage: Page = { name: 'audit-csv', get: exported, readers: auditReaders };

async function exported({ context, query }: PageRequest): Promise<PageResponse> {
  const asked = auditQueryOf(auditFiltersOf(query));
  const entries: AuditEntry[] = [];
  for (;;) {
    const limit = Math.min(batch, max_exported - entries.length);
    const read = await context.records.store.audit.list({ ...asked, limit, after: entries.at(-1)?.id });
    entries.push(...read);
    if (read.length < batch || entries.length >= max_exported) break;
  }
  const lines = entries.map(({ at_ms, actor, address, action, target, detail }) => [
    new Date(at_ms).toISOString(),
    actor,
    address,
    action,
    target,
    detail,
  ]);
  const titles = ['time', 'who', 'from', 'action', 'target', 'detail'];
  return fileResponse('audit-log.csv', 'text/csv', `${csvOf([titles, ...lines])}\r\n`);
}
