import type { Machine } from './machine.ts';
import type { OutageOptions } from './outage-options.ts';
import { type OutageFindings, openedAfter, type Sample, sample_ms } from './outage-run.ts';
import type { Check } from './soak-verdict.ts';
import { markdownTable } from './table.ts';

/** How many probes a breaker wants, by default. */
const probes = 3;
/** How many parts of the ramp are looked at, one by one. */
const parts = 5;

/** What must hold, and whether it did. */
export function outageChecks(findings: OutageFindings, { ramp_ms }: OutageOptions): Check[] {
  const { seen, completed, samples, died_ms, back_ms, ended_ms } = findings;
  const opened_ms = openedAfter(died_ms, samples);
  const closed_ms = closedAgain(findings);
  const shares = rampShares(findings, ramp_ms);
  const [first = 1] = shares;
  const last = closed_ms === undefined ? 0 : shareBetween(samples, closed_ms + ramp_ms, ended_ms);
  const early = closed_ms === undefined ? 0 : requestsBetween(samples, back_ms, closed_ms).dying;
  const check = (name: string, holds: boolean, detail: string): Check => ({ name, holds, detail });
  return [
    check(
      'no client saw an error before its answer had begun',
      seen.refused.length === 0,
      shown(seen.refused),
    ),
    check('no client got a text twice, or another one', seen.wrong.length === 0, shown(seen.wrong)),
    check('one record for each answer', completed === seen.answered + 1, `${completed} records`),
    check(
      'the breaker opened',
      opened_ms !== undefined,
      opened_ms === undefined ? 'never' : `${seconds(opened_ms - died_ms)} after the death`,
    ),
    check(
      'and closed again',
      closed_ms !== undefined,
      closed_ms === undefined ? 'never' : `${seconds(closed_ms - back_ms)} after the return`,
    ),
    // What is counted and what has closed are seen a sample apart, and some requests come between.
    check('until then only probes came', early <= probes + spare(findings), `${early} requests`),
    check('then a few', first <= 0.4, `${percent(first)} in the first fifth of the ramp`),
    check('and in the end about its share again', last >= 0.2, percent(last)),
  ];
}

/**
 * What may have come beside probes: within two samples of the beginning of the ramp, and at a provider that hung what had been sent to it
 * before anybody knew.
 */
function spare({ seen, ended_ms, failovers }: OutageFindings): number {
  const sampled = Math.ceil(((2 * sample_ms) / ended_ms) * seen.sent * 0.2) + 2;
  return sampled + (failovers.timeout ?? 0);
}

/** When the breaker was seen closed for the first time after the provider had come back. */
function closedAgain({ samples, back_ms }: OutageFindings): number | undefined {
  return samples.find(({ at_ms, breaker }) => at_ms > back_ms && breaker === 'closed')?.at_ms;
}

/** The provider's share of all requests in each part of the ramp. */
function rampShares(findings: OutageFindings, ramp_ms: number): number[] {
  const closed_ms = closedAgain(findings);
  if (closed_ms === undefined) return [];
  const part_ms = ramp_ms / parts;
  return Array.from({ length: parts }, (_, part) =>
    shareBetween(findings.samples, closed_ms + part * part_ms, closed_ms + (part + 1) * part_ms),
  );
}

function shareBetween(samples: readonly Sample[], from_ms: number, to_ms: number): number {
  const { dying, healthy } = requestsBetween(samples, from_ms, to_ms);
  return dying / Math.max(1, dying + healthy);
}

function requestsBetween(samples: readonly Sample[], from_ms: number, to_ms: number) {
  const within = samples.filter(({ at_ms }) => at_ms >= from_ms && at_ms <= to_ms);
  const [first, last] = [within[0], within.at(-1)];
  if (!first || !last) return { dying: 0, healthy: 0 };
  return { dying: last.dying - first.dying, healthy: last.healthy - first.healthy };
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
const shown = (faults: readonly string[]): string =>
  faults.length === 0
    ? '0'
    : `${faults.length}: ${[...new Set(faults)].slice(0, 3).join(' | ').replaceAll('\n', '\\n')}`;

/** A run as Markdown. */
export function outageReport(
  findings: OutageFindings,
  checks: readonly Check[],
  options: OutageOptions,
  machine: Machine,
  command: string,
): string {
  const { seen, failovers, denied, died_ms, back_ms, ended_ms, samples } = findings;
  const place = `${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}`;
  const covered = Object.entries(failovers).map(([kind, count]) => `${count} ${kind}`);
  const summary =
    `${seen.sent} requests at ${options.rate} per second, half of them streams; one of two providers was ${options.death} ` +
    `${seconds(died_ms)} after the beginning and back after ${seconds(back_ms - died_ms)}. ${seen.answered} answered whole; ` +
    `${seen.broken} streams broke after they had begun. Failures covered: ${covered.join(', ') || 'none'}; not covered: ${denied}.`;
  const phases: (readonly [string, number, number])[] = [
    ['before', 0, died_ms],
    ['dead', died_ms, back_ms],
    ...rampPhases(findings, options.ramp_ms),
    ['at the end', ended_ms - 5000, ended_ms],
  ];
  const rows = phases.map(([name, from_ms, to_ms]) => {
    const { dying, healthy } = requestsBetween(samples, from_ms, to_ms);
    return [name, String(dying), String(healthy), percent(shareBetween(samples, from_ms, to_ms))];
  });
  const held = checks.map(({ name, holds, detail }) => [name, holds ? 'yes' : '**NO**', detail]);
  return `${[
    `${place}\n\`${command}\``,
    summary,
    markdownTable(['What must hold', 'holds', 'figures'], held),
    markdownTable(['Requests that reached', 'the one that died', 'the other', 'share'], rows),
  ].join('\n\n')}\n`;
}

function rampPhases(findings: OutageFindings, ramp_ms: number): (readonly [string, number, number])[] {
  const closed_ms = closedAgain(findings);
  if (closed_ms === undefined) return [];
  const part_ms = ramp_ms / parts;
  const phase = (part: number) =>
    [`ramp ${part + 1}/${parts}`, closed_ms + part * part_ms, closed_ms + (part + 1) * part_ms] as const;
  return [
    ['back, breaker not closed', findings.back_ms, closed_ms],
    ...Array.from({ length: parts }, (_, part) => phase(part)),
  ];
}
