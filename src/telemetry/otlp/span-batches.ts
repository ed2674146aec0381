import { type Span, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { takeNotes } from '../span-notes.ts';
import type { SpanCounts } from '../trace-metrics.ts';
import { tracer_name } from '../tracing.ts';
import { type Batch, BatchWriter, spanCount } from './batch-writer.ts';

/** Longer requests are refused by some collectors; spans with prompts on them can be long. */
const max_batch_bytes = 2 ** 21;
/** All that may wait, however few spans it is. */
const max_waiting_bytes = 2 ** 26;

export interface BatchLimits {
  /** Spans that may wait for being sent; those that come then are dropped, and counted. */
  readonly max_waiting: number;
  readonly max_batch: number;
  /** How long a span may wait for its batch to be full. */
  readonly delay_ms: number;
}

/** Where batches go. `send` tells whether the batch has arrived, and never rejects. */
export interface BatchSink {
  send(batch: Batch): Promise<boolean>;
  close(): Promise<void>;
}

/** Takes the spans of OpenTelemetry's SDK as they end and sends them on in batches, one after the other. */
export class SpanBatches implements SpanProcessor {
  readonly #limits: BatchLimits;
  readonly #sink: BatchSink;
  readonly #counts: SpanCounts;
  readonly #filling = new BatchWriter();
  readonly #waiting: Batch[] = [];
  #waiting_spans = 0;
  #waiting_bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(limits: BatchLimits, sink: BatchSink, counts: SpanCounts) {
    this.#limits = limits;
    this.#sink = sink;
    this.#counts = counts;
  }

  onStart(span: Span & ReadableSpan): void {
    if (span.instrumentationScope.name === tracer_name) takeNotes(span);
  }

  onEnd(span: ReadableSpan): void {
    if (this.#closed || (span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    const { max_batch, delay_ms } = this.#limits;
    const spans = spanCount(span);
    if (this.#isFull(spans)) return this.#counts.dropped(spans, 'queue_full');
    if (this.#filling.spans + spans > max_batch) this.#seal();
    this.#filling.add(span);
    if (this.#filling.spans >= max_batch || this.#filling.length >= max_batch_bytes) this.#seal();
    else this.#timer ??= setTimeout(() => this.#seal(), delay_ms).unref();
  }

  async forceFlush(): Promise<void> {
    this.#seal();
    await this.#sending;
  }

  /** Sends what there is, unless nobody takes it. */
  async shutdown(): Promise<void> {
    this.#closed = true;
    await this.forceFlush();
    await this.#sink.close();
  }

  #isFull(spans: number): boolean {
    return (
      this.#waiting_spans + this.#filling.spans + spans > this.#limits.max_waiting ||
      this.#waiting_bytes + this.#filling.length > max_waiting_bytes
    );
  }

  /** The batch is whole: it waits for its turn. */
  #seal(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#filling.spans === 0) return;
    const batch = this.#filling.take();
    this.#waiting.push(batch);
    this.#waiting_spans += batch.spans;
    this.#waiting_bytes += batch.scope_spans.length;
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    for (let batch = this.#next(); batch; batch = this.#next()) {
      if (await this.#sink.send(batch)) this.#counts.sent(batch.spans);
      else {
        this.#counts.dropped(batch.spans, 'failed');
        if (this.#closed) this.#dropAll();
      }
    }
    this.#sending = undefined;
  }

  #next(): Batch | undefined {
    const batch = this.#waiting.shift();
    this.#waiting_spans -= batch?.spans ?? 0;
    this.#waiting_bytes -= batch?.scope_spans.length ?? 0;
    return batch;
  }

  /** At the end nobody waits for a collector that has just failed. */
  #dropAll(): void {
    for (let batch = this.#next(); batch; batch = this.#next()) this.#counts.dropped(batch.spans, 'failed');
  }
}
