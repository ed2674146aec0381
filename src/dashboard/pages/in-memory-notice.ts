import type { DashboardContext } from '../dashboard-context.ts';
import { type Html, html } from '../view/html.ts';

/** Warning on pages that create records, if records are in memory only. */
export function inMemoryNotice({ settings }: DashboardContext): Html | undefined {
  if (settings.records.target.kind !== 'memory') return undefined;
  return html`<p class="notice warn">What is made here ends with this process: records are kept in memory. Set <code>stores.records</code> to a SQLite file or a Postgres database to keep them.</p>`;
}
