import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { notesOf } from '../span-notes.ts';
import { ProtobufWriter } from './protobuf-writer.ts';
import { writeAttributes, writeSpan, writeStage } from './write-span.ts';

/** Spans of one process, written. */
export interface Batch {
  readonly spans: number;
  readonly resource: ReadableSpan['resource'];
  /** Messages of the type `ScopeSpans`, each as field 2. */
  readonly scope_spans: Buffer;
}

/** How many spans `span` is when it is sent: itself and the stages in its notes. */
export const spanCount = (span: ReadableSpan): number => 1 + (notesOf(span)?.stages.length ?? 0);

/** Writes spans as they end, so that what waits to be sent is bytes and not objects. */
export class BatchWriter {
  readonly #writer = new ProtobufWriter();
  #spans = 0;
  #first: ReadableSpan | undefined;
  #scope: ReadableSpan['instrumentationScope'] | undefined;
  #opened = 0;

  get spans(): number {
    return this.#spans;
  }

  get length(): number {
    return this.#writer.length;
  }

  /** Writes `span` and the stages in its notes. */
  add(span: ReadableSpan): void {
    this.#first ??= span;
    if (span.instrumentationScope !== this.#scope) this.#open(span.instrumentationScope);
    writeSpan(this.#writer, 2, span);
    for (const time of notesOf(span)?.stages ?? []) writeStage(this.#writer, 2, span, time);
    this.#spans += spanCount(span);
  }

  /** All that was added since the last time; there must be something. */
  take(): Batch {
    this.#close();
    const batch = { spans: this.#spans, resource: this.#first!.resource, scope_spans: this.#writer.take() };
    this.#spans = 0;
    this.#first = undefined;
    return batch;
  }

  /** Spans of another scope follow, which nearly never happens: the same scope may come again in a batch. */
  #open(scope: ReadableSpan['instrumentationScope']): void {
    this.#close();
    this.#opened = this.#writer.open(2);
    this.#scope = scope;
    const inside = this.#writer.open(1);
    this.#writer.text(1, scope.name);
    if (scope.version) this.#writer.text(2, scope.version);
    this.#writer.close(inside);
  }

  #close(): void {
    if (this.#scope) this.#writer.close(this.#opened);
    this.#scope = undefined;
  }
}

/** `batch` as an `ExportTraceServiceRequest`. What is known of its process must be all there by now. */
export function requestOf({ resource, scope_spans }: Batch): Buffer {
  const writer = new ProtobufWriter();
  const opened = writer.open(1);
  writeAttributes(writer, 1, resource.attributes);
  writer.close(opened);
  const about = writer.take();
  writer.announce(1, about.length + scope_spans.length);
  return Buffer.concat([writer.take(), about, scope_spans]);
}
