import {
  type Attributes,
  type Context,
  context,
  INVALID_SPAN_CONTEXT,
  INVALID_TRACEID,
  ProxyTracerProvider,
  propagation,
  type Span,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { version } from '../common/version.ts';
import type { Log } from './log.ts';

let known: { readonly provider: TracerProvider; readonly tracer: Tracer } | undefined;

/** Of the conventions for HTTP that the spans follow. Those for GenAI have no schema of their own yet. */
const schemaUrl = 'https://opentelemetry.io/schemas/1.44.0';

/**
 * Spans of the OpenTelemetry API: without an SDK in the process they record nothing and cost next to nothing. Looks for the provider each
 * time, because an SDK may be started later, and through another copy of the API, such as the one for `require`.
 */
export function tracer(): Tracer {
  const provider = trace.getTracerProvider();
  if (known?.provider !== provider)
    known = { provider, tracer: provider.getTracer('sluice', version, { schemaUrl }) };
  return known.tracer;
}

const noProvider = new ProxyTracerProvider().getDelegate();

/** Whether no SDK has registered a provider in this process, and no propagator passes on what callers send. */
export function isUntraced(): boolean {
  const provider = trace.getTracerProvider();
  const isNone = provider instanceof ProxyTracerProvider && provider.getDelegate() === noProvider;
  return isNone && propagation.fields().length === 0;
}

let hasFailed = false;

/**
 * What `act` returns of `given`, or `otherwise` when the application's tracing throws, as its span processors may: no trace is worth a request. The
 * first fault is a warning of the process.
 */
export function unlessTracingFails<T, Given>(act: (given: Given) => T, otherwise: T, given?: Given): T {
  try {
    return act(given as Given);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    if (!hasFailed)
      process.emitWarning(`the tracing of this application threw, and its spans may be lost: ${why}`);
    hasFailed = true;
    return otherwise;
  }
}

/** The span of every exchange while tracing is off: records nothing. Comparing with it costs less than `isRecording()`. */
export const noSpan: Span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/** Whether `span` is recorded. */
export const isRecorded = (span: Span): boolean =>
  span !== noSpan && unlessTracingFails(isRecording, false, span);

// Not made anew for each exchange, of which most are not recorded.
const isRecording = (span: Span): boolean => span.isRecording();

/** A link of a list of values. The API's own context copies a map and makes three functions for each value, which costs more than a span. */
class LinkedContext implements Context {
  readonly #below: Context;
  readonly #key: symbol | undefined;
  readonly #value: unknown;

  constructor(below: Context, key?: symbol, value?: unknown) {
    this.#below = below;
    this.#key = key;
    this.#value = value;
  }

  getValue(key: symbol): unknown {
    return key === this.#key ? this.#value : this.#below.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new LinkedContext(this, key, value);
  }

  deleteValue(key: symbol): Context {
    return new LinkedContext(this, key);
  }
}

const contextOf = (span: Span): Context => trace.setSpan(new LinkedContext(context.active()), span);

/** Adds attributes to a span, which are computed only if it is recorded. */
export function describeSpan(span: Span, attributes: () => Attributes): void {
  if (isRecorded(span)) unlessTracingFails(() => void span.setAttributes(attributes()), undefined);
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

/** More than this between two clocks is no rounding: the time of day was set. */
const max_drift_ms = 5;
let origin_ms = performance.timeOrigin;

/** Follows the time of day where it was set. Called when a trace begins, so that all its spans are on one clock. */
export function alignClock(): void {
  const drift_ms = Date.now() - epochOf(performance.now());
  if (Math.abs(drift_ms) > max_drift_ms) origin_ms += drift_ms;
}

/** Milliseconds since 1970 of a time of `performance.now()`, which has fractions: no child must seem to outlast its parent by rounding. */
export const epochOf = (at_ms: number): number => origin_ms + at_ms;

/** When a stage's hook ran, in milliseconds of `performance.now()`, and for how long it worked itself. */
interface StageTime {
  readonly stage: string;
  readonly hook: string;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly own_ms: number;
}

/** The error that a stage's hook has thrown. */
export interface StageError {
  /** Error type of the envelope. */
  readonly type: string;
  /** True if the stage has failed; false if it has refused the request. */
  readonly isFault: boolean;
  /** The event `exception`. */
  readonly exception?: Attributes | undefined;
}

const max_frames = 30;

/** Attributes of the event `exception`: where it was thrown, without its message, which may quote a prompt or a key. */
export function exceptionAttributes(thrown: unknown): Attributes {
  try {
    if (!(thrown instanceof Error)) return { 'exception.type': typeof thrown };
    const [stack, message, name] = [`${thrown.stack ?? ''}`, `${thrown.message}`, `${thrown.name}`];
    const at = stack.indexOf(message);
    const lines = (at === -1 ? '' : stack.slice(at + message.length)).split('\n');
    const frames = lines.filter(line => line.startsWith('    at ')).slice(0, max_frames);
    return { 'exception.type': name.slice(0, 100), 'exception.stacktrace': frames.join('\n') };
  } catch {
    // An error whose properties throw when they are read.
    return { 'exception.type': 'Error' };
  }
}

/** A child span, or `parent` itself when it is not recording. */
export function startChildSpan(parent: Span, name: string, kind: SpanKind, attributes: Attributes): Span {
  if (parent === noSpan) return noSpan;
  return unlessTracingFails(() => {
    if (!parent.isRecording()) return parent;
    const options = { kind, attributes, startTime: epochOf(performance.now()) };
    return tracer().startSpan(name, options, contextOf(parent));
  }, noSpan);
}

/** Records the span of a stage's hook after it has run. `parent` may have ended: a stage may still be at work when its exchange is over. */
export function recordStageSpan(parent: Span, time: StageTime, error?: StageError): void {
  const { stage, hook, start_ms, end_ms, own_ms } = time;
  unlessTracingFails(() => {
    const span = tracer().startSpan(`stage ${stage}`, { startTime: epochOf(start_ms) }, contextOf(parent));
    // Not with the start: the SDK copies those twice, which is a fifth of the span.
    span.setAttribute('sluice.stage', stage);
    span.setAttribute('sluice.hook', hook);
    span.setAttribute('sluice.own_ms', own_ms);
    if (error) span.setAttribute('error.type', error.type);
    if (error?.isFault) span.setStatus({ code: SpanStatusCode.ERROR });
    if (error?.exception) span.addEvent('exception', error.exception, epochOf(end_ms));
    span.end(epochOf(end_ms));
  }, undefined);
}

/** Adds an event to the exchange's span, such as its first token. */
export function markEvent(span: Span, name: string, attributes?: Attributes): void {
  if (!isRecorded(span)) return;
  unlessTracingFails(() => void span.addEvent(name, attributes, epochOf(performance.now())), undefined);
}

/** Id of the recorded trace of `span`, if any. */
export function traceIdOf(span: Span): string | undefined {
  return isRecorded(span) ? unlessTracingFails(() => span.spanContext().traceId, undefined) : undefined;
}

const noHeaders: Readonly<Record<string, string>> = {};

/**
 * Headers that carry the trace to the upstream, also one that the caller does not sample; none without an SDK and a caller's trace. Never
 * baggage, which is the clients' data and no business of a provider.
 */
export function traceHeaders(span: Span): Readonly<Record<string, string>> {
  return span === noSpan ? noHeaders : unlessTracingFails(injected, noHeaders, span);
}

function injected(span: Span): Readonly<Record<string, string>> {
  if (span.spanContext().traceId === INVALID_TRACEID) return noHeaders;
  const headers: Record<string, string> = {};
  propagation.inject(propagation.deleteBaggage(contextOf(span)), headers);
  return headers;
}

/** Ends `span` at `end_ms` of `performance.now()`, as failed when there is an error type. */
export function endSpan(span: Span, error_type: string | undefined, end_ms = performance.now()): void {
  unlessTracingFails(() => {
    if (error_type !== undefined && span.isRecording()) {
      span.setAttribute('error.type', error_type);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(epochOf(end_ms));
  }, undefined);
}
