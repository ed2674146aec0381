import { markdownTable } from '../figures.ts';
import { type Machine, machineText } from '../machine.ts';
import type { Result } from './run.ts';
import { peaksOf, waitsOf } from './verdict.ts';

const heldText = (held: boolean): string => (held ? 'yes' : '**NO**');

/** The figures of a run. */
export function figuresOf({ scenario, findings, checks }: Result) {
  const { comparison, deployment, seconds, end, steps_ms, begun_ms } = findings;
  const { ends, sent, alarms, records, rows, row_tokens, compared, calls, provider_tokens } = comparison;
  const changes = (name: 'open_files' | 'timers') =>
    end.map((metrics, at) => [deployment.gateways[at]?.before?.[name], metrics[name]]);
  const steps = scenario.steps?.map(({ what }, at) => [what, ((steps_ms[at]! - begun_ms) / 1000).toFixed(1)]);
  return {
    held: checks.every(({ holds }) => holds),
    seconds: Number(seconds.toFixed(1)),
    steps_done_after_s: Object.fromEntries(steps ?? []),
    exchanges: Object.fromEntries([...ends].sort(([, a], [, b]) => b - a)),
    records,
    rows,
    row_tokens,
    rows_compared_with_providers: compared,
    calls,
    provider_tokens,
    lost: comparison.lost.length,
    lost_with_instances: comparison.lost_with_instances,
    doubled: comparison.doubled.length,
    good_answers: comparison.waits_ms.length,
    ...waitsOf(comparison.waits_ms),
    peak_rss_mb: peaksOf(findings),
    open_files: changes('open_files'),
    timers: changes('timers'),
    alarms: Object.fromEntries(alarms),
    requests: Object.fromEntries(sent),
    ...findings.figures,
  };
}

export type RunFigures = ReturnType<typeof figuresOf>;

/** One scenario as Markdown. */
export function scenarioReport({ scenario, findings, checks }: Result, figures: RunFigures): string {
  const { faults } = findings.comparison;
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const parts = [
    `## ${scenario.name}: ${figures.held ? 'held' : '**BROKEN**'}`,
    scenario.what,
    markdownTable(
      ['What must hold', 'holds', 'figures'],
      checks.map(({ name, holds, detail }) => [name, heldText(holds), detail.replaceAll('\n', '\\n')]),
    ),
    markdownTable(
      ['Measured', ''],
      Object.entries(figures).map(([name, value]) => [name.replaceAll('_', ' '), text(value)]),
    ),
    ...(faults.length > 0 ? [`Wrong:\n\n${faults.map(fault => `- ${fault}`).join('\n')}`] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Where and how, and all scenarios in one table. */
export function summary(
  runs: Readonly<Record<string, RunFigures>>,
  machine: Machine,
  command: string,
): string {
  const rows = Object.entries(runs).map(([name, run]) => {
    const { held, records, rows, calls, lost, doubled, p99_ms, slowest_ms, peak_rss_mb } = run;
    const figures = [records, rows, calls, lost, doubled, p99_ms, slowest_ms, Math.max(...peak_rss_mb)];
    return [name, heldText(held), ...figures.map(figure => figure.toFixed(0))];
  });
  const head = [
    'Scenario',
    'held',
    'exchanges',
    'rows',
    'calls',
    'LOST',
    'DOUBLED',
    'p99 ms',
    'slowest ms',
    'MiB',
  ];
  return `${machineText(machine)}\n\`${command}\`\n\n${markdownTable(head, rows)}\n`;
}
