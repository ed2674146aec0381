import type { Machine } from './machine.ts';
import type { SoakOptions } from './soak-options.ts';
import type { Findings } from './soak-run.ts';
import { type Check, mebibytes } from './soak-verdict.ts';
import { markdownTable } from './table.ts';

/** A run as Markdown: where and how, what held, who the clients were, what was wrong. */
export function soakReport(
  findings: Findings,
  checks: readonly Check[],
  options: SoakOptions,
  machine: Machine,
  command: string,
): string {
  const { ledger, seconds, before, end } = findings;
  const place = `${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}`;
  const rate = (ledger.records / seconds).toFixed(0);
  const summary =
    `${options.concurrency} clients for ${(seconds / 60).toFixed(1)} minutes: ${ledger.records} exchanges, ${rate} per second. ` +
    `Resident memory ${mebibytes(before.rss_bytes)} before, ${mebibytes(end.rss_bytes)} after.`;
  const rows = checks.map(({ name, holds, detail }) => [name, holds ? 'yes' : '**NO**', detail]);
  const asked = [...ledger.asked].sort(([, a], [, b]) => b - a).map(([kind, count]) => [kind, String(count)]);
  const parts = [
    `${place}\n\`${command}\``,
    summary,
    markdownTable(['What must hold', 'holds', 'figures'], rows),
    markdownTable(['Clients', 'times'], asked),
  ];
  if (ledger.faults.length > 0)
    parts.push(`Wrong:\n\n${ledger.faults.map(fault => `- ${fault}`).join('\n')}`);
  return `${parts.join('\n\n')}\n`;
}
