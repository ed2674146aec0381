import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  context,
  INVALID_TRACEID,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { notesOf, type StageTime } from './span-notes.ts';

/** The instrumentation scope of all spans that are made here. */
export const tracer_name = 'sluice';

/** Spans of the OpenTelemetry API: without an SDK in the process they record nothing and cost next to nothing. */
const tracer = trace.getTracer(tracer_name);

/** What of a request its span tells; never its query, which may hold anything. */
export interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The path as it is configured, if the request's belongs to one; what spans are named by. */
  readonly route: string | undefined;
}

/** The span of an exchange, below the caller's if its headers name one (W3C trace context). */
export function startServerSpan(request: TracedRequest, headers: IncomingHttpHeaders): Span {
  const { id, method, path, route } = request;
  const active = context.active();
  const parent = trace.getSpan(active) ? active : propagation.extract(active, headers);
  const name = route === undefined ? method : `${method} ${route}`;
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
  if (span.isRecording()) {
    describeSpan(span, {
      'http.request.method': method,
      'url.path': path.slice(0, 512),
      'http.route': route,
      'sluice.request_id': id,
    });
  }
  return span;
}

/** A span below `parent`; where nobody observes, `parent` itself, which is nothing either. */
export function startChildSpan(parent: Span, name: string, kind: SpanKind, attributes: Attributes): Span {
  if (!isTraced(parent)) return parent;
  return tracer.startSpan(name, { kind, attributes }, trace.setSpan(context.active(), parent));
}

/** The span of a stage's hook, recorded after the fact so that nothing is made when nobody observes. */
export function recordStageSpan(parent: Span, time: StageTime): void {
  if (!parent.isRecording()) return;
  const notes = notesOf(parent);
  if (notes) return void notes.stages.push(time);
  const { start_ms, end_ms } = time;
  const options = { startTime: start_ms, attributes: stageAttributes(time) };
  const span = tracer.startSpan(stageName(time), options, trace.setSpan(context.active(), parent));
  span.end(end_ms);
}

/** What the span of a stage is called, whoever makes it. */
export const stageName = ({ stage }: StageTime): string => `stage ${stage}`;

export const stageAttributes = ({ stage, hook, own_ms }: StageTime): Attributes => ({
  'sluice.stage': stage,
  'sluice.hook': hook,
  'sluice.own_ms': own_ms,
});

/** Says more of a span that is recorded; `attributes` stay as they are, and what is undefined in them is not said. */
export function describeSpan(span: Span, attributes: Attributes): void {
  const notes = notesOf(span);
  if (notes) notes.attributes.push(attributes);
  else span.setAttributes(attributes);
}

/** Something that happened at a moment of the exchange, such as its first token. */
export function markEvent(span: Span, name: string, attributes?: Attributes): void {
  if (span.isRecording()) span.addEvent(name, attributes);
}

/** The trace that is recorded for `span`, if one is. */
export function traceIdOf(span: Span): string | undefined {
  return span.isRecording() ? span.spanContext().traceId : undefined;
}

/** Whether `span` belongs to a trace at all, recorded or not: without an SDK and a caller's trace none does. */
const isTraced = (span: Span): boolean => span.spanContext().traceId !== INVALID_TRACEID;

/** Headers that carry the trace to the upstream, also one that is not sampled here: the caller has decided so for all. */
export function traceHeaders(span: Span): Record<string, string> {
  const headers: Record<string, string> = {};
  if (isTraced(span)) propagation.inject(trace.setSpan(context.active(), span), headers);
  return headers;
}

/** Ends `span`, as failed when there is an error type. */
export function endSpan(span: Span, error_type: string | undefined, end_epoch_ms?: number): void {
  if (error_type !== undefined && span.isRecording()) {
    span.setAttribute('error.type', error_type);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(end_epoch_ms);
}
