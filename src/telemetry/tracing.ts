import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  context,
  INVALID_TRACEID,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { Log } from './log.ts';

let known: { readonly provider: TracerProvider; readonly tracer: Tracer } | undefined;

/**
 * Spans of the OpenTelemetry API: without an SDK in the process they record nothing and cost next to nothing. Looks for the provider each
 * time, because an SDK may be started later, and through another copy of the API, such as the one for `require`.
 */
function tracer(): Tracer {
  const provider = trace.getTracerProvider();
  if (known?.provider !== provider) known = { provider, tracer: provider.getTracer('sluice') };
  return known.tracer;
}

/** Where every copy of the API registers its provider, with its own version. */
const registry = Symbol.for('opentelemetry.js.api.1');
let isWarned = false;

/** Warns, once in a process, that an SDK was started through a copy of the API that this one does not accept, so that all spans are lost. */
export function warnOfLostSpans(log: Pick<Log, 'warn'>): void {
  const { trace: registered, version } = Object((globalThis as Record<symbol, unknown>)[registry]) as {
    readonly trace?: object;
    readonly version?: string;
  };
  if (isWarned || registered === undefined || registered === trace.getTracerProvider()) return;
  isWarned = true;
  log.warn(
    `no spans are recorded: tracing was started through @opentelemetry/api ${version}, and sluice has loaded a newer copy; install the newer one for both (npm ls @opentelemetry/api)`,
  );
}

/** When a stage's hook ran, in milliseconds since 1970, and for how long it worked itself. */
interface StageTime {
  readonly stage: string;
  readonly hook: string;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly own_ms: number;
}

/** Span attributes of a request; never its query, which may hold anything. */
interface TracedRequest {
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
  const span = tracer().startSpan(name, { kind: SpanKind.SERVER }, parent);
  if (span.isRecording()) {
    span.setAttributes({
      'http.request.method': method,
      'url.path': path.slice(0, 512),
      'http.route': route,
      'sluice.request_id': id,
    });
  }
  return span;
}

/** A child span, or `parent` itself when it is not recording. */
export function startChildSpan(parent: Span, name: string, kind: SpanKind, attributes: Attributes): Span {
  if (!parent.isRecording()) return parent;
  return tracer().startSpan(name, { kind, attributes }, trace.setSpan(context.active(), parent));
}

/** Records the span of a stage's hook after it has run; does nothing when `parent` is not recorded. */
export function recordStageSpan(parent: Span, time: StageTime): void {
  if (!parent.isRecording()) return;
  const { stage, hook, start_ms, end_ms, own_ms } = time;
  const attributes = { 'sluice.stage': stage, 'sluice.hook': hook, 'sluice.own_ms': own_ms };
  const options = { startTime: start_ms, attributes };
  tracer().startSpan(`stage ${stage}`, options, trace.setSpan(context.active(), parent)).end(end_ms);
}

/** Adds an event to the exchange's span, such as its first token. */
export function markEvent(span: Span, name: string, attributes?: Attributes): void {
  if (span.isRecording()) span.addEvent(name, attributes);
}

/** Id of the recorded trace of `span`, if any. */
export function traceIdOf(span: Span): string | undefined {
  return span.isRecording() ? span.spanContext().traceId : undefined;
}

/** Headers that carry the trace to the upstream, also one that the caller does not sample; none without an SDK and a caller's trace. */
export function traceHeaders(span: Span): Record<string, string> {
  const headers: Record<string, string> = {};
  if (span.spanContext().traceId !== INVALID_TRACEID)
    propagation.inject(trace.setSpan(context.active(), span), headers);
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
