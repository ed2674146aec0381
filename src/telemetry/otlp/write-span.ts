import { type HrTime, type SpanContext, SpanKind } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { notesOf, type StageTime } from '../span-notes.ts';
import { stageAttributes, stageName } from '../tracing.ts';
import type { ProtobufWriter } from './protobuf-writer.ts';

/** What of a span is written; an ended span of OpenTelemetry's SDK is one. */
export type SpanRecord = Omit<ReadableSpan, 'duration' | 'ended' | 'resource' | 'instrumentationScope'>;

/** A span's flags say whether its parent is known to be remote, and whether it is. */
const [knows_remote, is_remote] = [0x100, 0x200];

/** Writes `span` as field `field`, of the type `opentelemetry.proto.trace.v1.Span`. */
export function writeSpan(writer: ProtobufWriter, field: number, span: SpanRecord): void {
  const context = span.spanContext();
  const { parentSpanContext: parent, status } = span;
  const opened = writer.open(field);
  writeIds(writer, context);
  if (parent) writer.hex(4, parent.spanId);
  writer.text(5, span.name);
  writer.integer(6, otlpKind[span.kind]);
  writeTime(writer, 7, span.startTime);
  writeTime(writer, 8, span.endTime);
  writeAttributes(writer, 9, span.attributes);
  for (const said of notesOf(span)?.attributes ?? []) writeAttributes(writer, 9, said, span.attributes);
  writeDropped(writer, 10, span.droppedAttributesCount);
  for (const event of span.events) writeEvent(writer, event);
  writeDropped(writer, 12, span.droppedEventsCount);
  for (const link of span.links) writeLink(writer, link);
  writeDropped(writer, 14, span.droppedLinksCount);
  if (status.code !== 0 || status.message) {
    const inside = writer.open(15);
    if (status.message) writer.text(2, status.message);
    if (status.code !== 0) writer.integer(3, status.code);
    writer.close(inside);
  }
  writer.fixed32(16, flagsOf(context, parent?.isRemote));
  writer.close(opened);
}

/** Writes a stage in the notes of `parent` as a span below it, with an id of its own. */
export function writeStage(writer: ProtobufWriter, field: number, parent: SpanRecord, time: StageTime): void {
  const context = parent.spanContext();
  const opened = writer.open(field);
  writer.hex(1, context.traceId);
  writer.randomId(2);
  writeState(writer, context);
  writer.hex(4, context.spanId);
  writer.text(5, stageName(time));
  writer.integer(6, otlpKind[SpanKind.INTERNAL]);
  writeEpoch(writer, 7, time.start_ms);
  writeEpoch(writer, 8, time.end_ms);
  writeAttributes(writer, 9, stageAttributes(time));
  writer.fixed32(16, flagsOf(context));
  writer.close(opened);
}

const otlpKind = {
  [SpanKind.INTERNAL]: 1,
  [SpanKind.SERVER]: 2,
  [SpanKind.CLIENT]: 3,
  [SpanKind.PRODUCER]: 4,
  [SpanKind.CONSUMER]: 5,
} as const;

/** Fields 1 to 3 of spans and links alike. */
function writeIds(writer: ProtobufWriter, context: SpanContext): void {
  writer.hex(1, context.traceId);
  writer.hex(2, context.spanId);
  writeState(writer, context);
}

function writeState(writer: ProtobufWriter, { traceState }: SpanContext): void {
  const state = traceState?.serialize();
  if (state) writer.text(3, state);
}

const flagsOf = ({ traceFlags }: SpanContext, isRemote = false): number =>
  (traceFlags & 0xff) | knows_remote | (isRemote ? is_remote : 0);

const writeTime = (writer: ProtobufWriter, field: number, [seconds, nanoseconds]: HrTime): void =>
  writer.nanoseconds(field, seconds, nanoseconds);

function writeEpoch(writer: ProtobufWriter, field: number, epoch_ms: number): void {
  const seconds = Math.floor(epoch_ms / 1000);
  writer.nanoseconds(field, seconds, Math.floor((epoch_ms - seconds * 1000) * 1e6));
}

function writeDropped(writer: ProtobufWriter, field: number, count = 0): void {
  if (count > 0) writer.integer(field, count);
}

function writeEvent(writer: ProtobufWriter, event: SpanRecord['events'][number]): void {
  const opened = writer.open(11);
  writeTime(writer, 1, event.time);
  writer.text(2, event.name);
  if (event.attributes) writeAttributes(writer, 3, event.attributes);
  writeDropped(writer, 4, event.droppedAttributesCount);
  writer.close(opened);
}

function writeLink(writer: ProtobufWriter, link: SpanRecord['links'][number]): void {
  const opened = writer.open(13);
  writeIds(writer, link.context);
  if (link.attributes) writeAttributes(writer, 4, link.attributes);
  writeDropped(writer, 5, link.droppedAttributesCount);
  writer.fixed32(6, flagsOf(link.context, link.context.isRemote));
  writer.close(opened);
}

/** Writes each of `attributes` that is not in `written` as field `field`, of the type `KeyValue`; also those of a resource. */
export function writeAttributes(
  writer: ProtobufWriter,
  field: number,
  attributes: object,
  written?: object,
): void {
  for (const key in attributes) {
    const value = (attributes as Record<string, unknown>)[key];
    if (value === undefined || (written && key in written)) continue;
    const opened = writer.open(field);
    writer.text(1, key);
    writeValue(writer, 2, value);
    writer.close(opened);
  }
}

/** An `AnyValue`; without a value inside where there is none. */
function writeValue(writer: ProtobufWriter, field: number, value: unknown): void {
  const opened = writer.open(field);
  if (typeof value === 'string') writer.text(1, value);
  else if (typeof value === 'boolean') writer.integer(2, value ? 1 : 0);
  else if (typeof value === 'number') writeNumber(writer, value);
  else if (value instanceof Uint8Array) writer.bytes(7, value);
  else if (typeof value === 'object' && value !== null) writeCollection(writer, value);
  writer.close(opened);
}

function writeNumber(writer: ProtobufWriter, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) writer.integer(3, value);
  else writer.double(4, value);
}

function writeCollection(writer: ProtobufWriter, values: object): void {
  const opened = writer.open(Array.isArray(values) ? 5 : 6);
  if (Array.isArray(values)) for (const value of values) writeValue(writer, 1, value);
  else writeAttributes(writer, 1, values);
  writer.close(opened);
}
