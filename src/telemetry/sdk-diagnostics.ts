import { inspect } from 'node:util';
import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { systemClock } from '../common/clock.ts';
import type { Log } from './log.ts';
import { type Environment, unusedExporters } from './otel-variables.ts';
import { ThrottledLog } from './throttled-log.ts';

const levels: Readonly<Record<string, DiagLogLevel>> = {
  none: DiagLogLevel.NONE,
  error: DiagLogLevel.ERROR,
  warn: DiagLogLevel.WARN,
  info: DiagLogLevel.INFO,
  debug: DiagLogLevel.DEBUG,
  verbose: DiagLogLevel.VERBOSE,
  all: DiagLogLevel.ALL,
};

/**
 * Lets the diagnostics of OpenTelemetry's SDK, such as a collector that is down, go to the log, from `OTEL_LOG_LEVEL` on (default: `warn`).
 * To be called before the SDK is created, which prints them to the console if it finds the variable: it is taken out of `environment`.
 */
export function logSdkDiagnostics(environment: Record<string, string | undefined>, log: () => Log): void {
  const logLevel = levels[environment.OTEL_LOG_LEVEL?.trim().toLowerCase() ?? ''] ?? DiagLogLevel.WARN;
  delete environment.OTEL_LOG_LEVEL;
  diag.setLogger(new DiagnosticLog(log), { logLevel, suppressOverrideMessage: true });
}

/** Warns of each variable that asks for an exporter which there is none of here. For one process of a sidecar, whatever its workers. */
export function warnOfUnusedExporters(environment: Environment, log: Log): void {
  for (const why of unusedExporters(environment))
    log.warn({ why }, 'a variable asks for an exporter of OpenTelemetry that is not used');
}

/** Different diagnostics that are told apart; any further ones share their lines. */
const max_kinds = 32;

/** Writes one line of each kind in ten seconds: every batch of spans that a collector does not take is a diagnostic. */
class DiagnosticLog implements DiagLogger {
  readonly #throttled = new ThrottledLog<string>(systemClock);
  readonly #kinds = new Set<string>();
  readonly #log: () => Log;

  constructor(log: () => Log) {
    this.#log = log;
  }

  // Lost spans harm no request, so that nothing is an `error` of the gateway.
  error = (...said: readonly unknown[]): void => this.#write('warn', said);
  warn = (...said: readonly unknown[]): void => this.#write('warn', said);
  info = (...said: readonly unknown[]): void => this.#write('info', said);
  debug = (...said: readonly unknown[]): void => this.#write('debug', said);
  verbose = (...said: readonly unknown[]): void => this.#write('debug', said);

  #write(level: 'warn' | 'info' | 'debug', [first, ...more]: readonly unknown[]): void {
    const fields = { diagnostic: diagnosticOf(first), ...(more.length > 0 && { more }) };
    const kind = this.#kindOf(`${level} ${inspect(fields.diagnostic, { depth: 1, breakLength: Infinity })}`);
    this.#throttled.write(kind, this.#log(), level, fields, "a diagnostic of OpenTelemetry's SDK");
  }

  /** What was said without what differs each time, such as numbers and ids. */
  #kindOf(said: string): string {
    const kind = said.slice(0, 200).replace(/[\da-f]*\d[\da-f]*/gi, '#');
    if (this.#kinds.size >= max_kinds && !this.#kinds.has(kind)) return 'other';
    this.#kinds.add(kind);
    return kind;
  }
}

/** What was said; an error arrives as a text in JSON, of which its message, code and name are kept. */
function diagnosticOf(said: unknown): unknown {
  if (typeof said !== 'string' || !said.startsWith('{')) return said;
  try {
    const { message, code, name } = JSON.parse(said) as Record<string, unknown>;
    return message === undefined ? said : { message, code, name };
  } catch {
    return said;
  }
}
