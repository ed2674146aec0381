import type { AttemptRow, LedgerRow } from '../../../src/plugin.ts';
import { countOf, muted, numberOf } from './format.ts';
import { type Html, html } from './html.ts';
import { type Column, names, numbers, tableOf } from './table.ts';

/** Something that took time in a request. Milliseconds from its start. */
interface Span {
  readonly name: Html;
  readonly begin_ms: number;
  /** Null if it is not known. */
  readonly took_ms: number | null;
  /** Part before `begin_ms`: the wait for a provider, or before a retry. */
  readonly wait_ms: number;
  readonly first_token_ms: number | null;
  readonly style: 'attempt' | 'stage';
}

const colours = { attempt: 'series-1', stage: 'series-2' } as const;
const width = 1000;
/** What is shorter could not be seen. */
const min_width = 4;

/** Stages and attempts of a request in the order in which they began, each with its figures and as a bar on one axis of time. */
export function timelineTable(row: LedgerRow): Html {
  const spans = [...row.stages.map(spanOfStage), ...row.attempts_made.map(spanOfAttempt)];
  spans.sort((a, b) => a.begin_ms - b.begin_ms);
  const all_ms = Math.max(row.duration_ms, 1, ...spans.map(endOf));
  const columns = [
    ...figures,
    { title: `0 to ${millisecondsOf(all_ms)}`, cell: (span: Span) => bar(span, all_ms), isWide: true },
  ];
  const { brief = [], long = [] } = Object.groupBy(spans, span => (isBrief(span) ? 'brief' : 'long'));
  const together_ms = brief.reduce((sum, { took_ms }) => sum + (took_ms ?? 0), 0);
  const unknown = html`<p class="muted">The stages of this request were not recorded.</p>`;
  return html`${(long.length > 0 || brief.length === 0) && tableOf('Timeline', columns, long, unknown)}
${brief.length > 0 && html`<details><summary>${countOf(brief.length, 'stage')} below 1 ms, ${millisecondsOf(together_ms)} together</summary>${tableOf('Stages below a millisecond', columns, brief)}</details>`}`;
}

const isBrief = ({ style, took_ms }: Span): boolean => style === 'stage' && took_ms !== null && took_ms < 1;

const spanOfStage = ({ stage, hook, offset_ms, own_ms }: LedgerRow['stages'][number]): Span => ({
  name: html`${stage} ${muted(hook)}`,
  begin_ms: offset_ms,
  took_ms: own_ms,
  wait_ms: 0,
  first_token_ms: null,
  style: 'stage',
});

const spanOfAttempt = (attempt: AttemptRow, at: number): Span => ({
  name: html`<strong>Attempt ${at + 1}</strong> ${attempt.provider ?? 'handler'}`,
  begin_ms: attempt.offset_ms,
  took_ms: attempt.duration_ms,
  wait_ms: attempt.wait_ms,
  first_token_ms: attempt.first_token_ms,
  style: 'attempt',
});

const endOf = ({ begin_ms, took_ms }: Span): number => begin_ms + (took_ms ?? 0);

const figures: readonly Column<Span>[] = [
  names('Part', ({ name }) => name),
  numbers('Began after', ({ begin_ms }) => millisecondsOf(begin_ms)),
  numbers('Took', ({ took_ms }) => (took_ms === null ? muted('unknown') : millisecondsOf(took_ms))),
];

/** `0.12 ms`, `1 203 ms`: with hundredths below a hundred. */
const millisecondsOf = (ms: number): string => `${numberOf(Number(ms.toFixed(ms < 100 ? 2 : 0)))}\u00a0ms`;

/** The figures of the row as a picture: the wait pale, the first token as a mark. */
function bar({ begin_ms, took_ms, wait_ms, first_token_ms, style }: Span, all_ms: number): Html {
  const at = (ms: number) => (ms / all_ms) * width;
  const rect = (colour: string, from_ms: number, long_ms: number) => {
    const wide = Math.max(at(long_ms), min_width);
    const x = Math.min(at(from_ms), width - wide);
    return html`<rect fill="var(--${colour})" x="${x.toFixed(1)}" width="${wide.toFixed(1)}" height="1"/>`;
  };
  return html`<svg class="span" aria-hidden="true" viewBox="0 0 ${width} 1" preserveAspectRatio="none">
${wait_ms > 0 && rect('series-other', begin_ms - wait_ms, wait_ms)}${rect(colours[style], begin_ms, took_ms ?? 0)}${first_token_ms !== null && rect('text', begin_ms + first_token_ms, 0)}
</svg>`;
}
