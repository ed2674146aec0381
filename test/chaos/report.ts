import type { Machine } from '../bench/machine.ts';
import { markdownTable } from '../bench/table.ts';
import type { Result } from './run.ts';
import { waitsOf } from './verdict.ts';

const heldOf = ({ checks }: Result): boolean => checks.every(({ holds }) => holds);

/** What happened under load, and when. */
const stepsOf = ({ scenario, findings: { steps_ms, begun_ms } }: Result): string[] =>
  (scenario.steps ?? []).map(
    ({ what }, at) => `${what}: done after ${((steps_ms[at]! - begun_ms) / 1000).toFixed(1)} s`,
  );

/** The figures of a run. */
export function figuresOf(result: Result) {
  const { scenario, findings, checks, figures } = result;
  const { books, world, seconds, end } = findings;
  return {
    scenario: scenario.name,
    held: heldOf(result),
    seconds: Number(seconds.toFixed(1)),
    steps: stepsOf(result),
    exchanges: Object.fromEntries([...books.ends].sort(([, a], [, b]) => b - a)),
    records: books.records,
    ledger_rows: books.rows,
    ledger_tokens: books.row_tokens,
    rows_compared_with_providers: books.compared,
    upstream_calls: books.calls,
    provider_tokens: books.provider_tokens,
    lost: books.lost.length,
    lost_with_instances: books.lost_with_instances,
    doubled: books.doubled.length,
    good_answers: books.waits_ms.length,
    ...waitsOf(books.waits_ms),
    peak_rss_mb: world.gateways.map(({ peak_rss_bytes }) => Math.round(peak_rss_bytes / 2 ** 20)),
    open_files: end.map(({ open_files }, at) => [world.gateways[at]?.before?.open_files, open_files]),
    timers: end.map(({ timers }, at) => [world.gateways[at]?.before?.timers, timers]),
    alarms: Object.fromEntries(books.alarms),
    clients: Object.fromEntries(books.asked),
    figures,
    checks,
    faults: books.faults,
  };
}

/** One scenario as Markdown. */
export function scenarioReport(result: Result): string {
  const { scenario, checks, findings, figures } = result;
  const { books, seconds } = findings;
  const totals =
    `${books.records} exchanges in ${seconds.toFixed(0)} s, ${books.rows} rows in the ledger with ${books.row_tokens} tokens ` +
    `(${books.compared} rows held against their provider), ${books.calls} upstream calls with ${books.provider_tokens} tokens.`;
  const ends = [...books.ends].sort(([, a], [, b]) => b - a).map(([end, count]) => `${end} ${count}`);
  const parts = [
    `## ${scenario.name}: ${heldOf(result) ? 'held' : '**BROKEN**'}`,
    [scenario.what, `${totals} By status and end: ${ends.join(', ')}.`, stepsOf(result).join('; ')]
      .filter(Boolean)
      .join('\n\n'),
    markdownTable(
      ['What must hold', 'holds', 'figures'],
      checks.map(({ name, holds, detail }) => [
        name,
        holds ? 'yes' : '**NO**',
        detail.replaceAll('\n', '\\n'),
      ]),
    ),
  ];
  if (Object.keys(figures).length > 0)
    parts.push(
      markdownTable(
        ['Measured', ''],
        Object.entries(figures).map(pair => [...pair]),
      ),
    );
  if (books.faults.length > 0) parts.push(`Wrong:\n\n${books.faults.map(fault => `- ${fault}`).join('\n')}`);
  return `${parts.join('\n\n')}\n`;
}

/** Where and how, and the whole campaign in one table. */
export function summary(results: readonly Result[], machine: Machine, command: string): string {
  const place = `${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}`;
  const rows = results.map(result => {
    const { books, world } = result.findings;
    const { slowest_ms, p99_ms } = waitsOf(books.waits_ms);
    const peak = Math.max(...world.gateways.map(({ peak_rss_bytes }) => peak_rss_bytes / 2 ** 20));
    const figures = [books.records, books.rows, books.calls, books.lost.length, books.doubled.length];
    const held = heldOf(result) ? 'yes' : '**NO**';
    return [
      result.scenario.name,
      held,
      ...[...figures, p99_ms, slowest_ms, peak].map(value => value.toFixed(0)),
    ];
  });
  const head = ['Scenario', 'held', 'exchanges', 'rows', 'calls', 'LOST', 'DOUBLED'];
  return `${place}\n\`${command}\`\n\n${markdownTable([...head, 'p99 ms', 'slowest ms', 'MiB'], rows)}\n`;
}
