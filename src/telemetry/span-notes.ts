import type { Attributes, Span } from '@opentelemetry/api';

/** When a stage's hook ran, in milliseconds since 1970, and for how long it worked itself. */
export interface StageTime {
  readonly stage: string;
  readonly hook: string;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly own_ms: number;
}

/** What is kept with a span as it was said, to be looked at when the span is sent. */
export interface SpanNotes {
  readonly attributes: Attributes[];
  /** Spans below it, in the order of their ends. */
  readonly stages: StageTime[];
}

const notes = Symbol('notes');
type Noted = { [notes]?: SpanNotes };

/**
 * From here on `span` takes notes: stages below it are not made spans, and attributes are not checked and copied one by one, which for an
 * exchange would cost more than all else of its trace. For spans that this process sends itself, and that nobody else reads.
 */
export function takeNotes(span: Span): void {
  (span as Noted)[notes] = { attributes: [], stages: [] };
}

/** The notes of `span`, if it takes any. */
export const notesOf = (span: object): SpanNotes | undefined => (span as Noted)[notes];
