import type { Gateway } from '../mount/gateway.ts';
import { createLog, isPretty, type Log, type LogFormat } from '../telemetry/log.ts';
import { BoundedLog } from '../telemetry/logger.ts';
import { exit } from './signals.ts';

/** What a process that serves says beside its gateway, in the log's format; and Node's warnings and uncaught errors, which go to the log. */
export class ProcessLog {
  /** The gateway's log, once there is one. */
  current: Log = new BoundedLog(createLog());
  #format: LogFormat = 'auto';

  /** Writes to the gateway's log from now on. */
  follow({ log, settings }: Pick<Gateway, 'log' | 'settings'>): void {
    this.current = log;
    this.#format = settings.log.format;
  }

  /**
   * Logs what is waited for at the start, such as the address, whatever the level. `text` says to people what the fields say to programs:
   * it goes to standard error, with and without a terminal, so that standard output has only lines of the log.
   */
  announce(fields: object, message: string, text?: string): void {
    const log = new BoundedLog(createLog('info', this.#format));
    if (text === undefined) return log.info(fields, message);
    if (isPretty(this.#format)) log.info(message);
    else log.info(fields, message);
    process.stderr.write(`${text}\n`);
  }

  /** Logs Node's warnings, unless they are switched off, and errors that nothing has caught: those end the process with the code 1. */
  watchProcess(): void {
    // Node's own listener, which prints warnings; --no-warnings leaves it out.
    if (process.listenerCount('warning') > 0) {
      process.removeAllListeners('warning');
      process.on('warning', (err: Error) => this.current.warn({ err }, `Node warns: ${err.message}`));
    }
    process.on('uncaughtException', (err: unknown, origin) => {
      this.failed(err, 'uncaught error, the process ends', { origin });
      void exit(1);
    });
  }

  /** Logs why the process ends; on standard error if the log is silent. */
  failed(err: unknown, message: string, fields: object = {}): void {
    if (this.current.isLevelEnabled('fatal')) this.current.fatal({ err, ...fields }, message);
    else process.stderr.write(`${shownError(err)}\n`);
  }
}

/** What was thrown, whatever it is: to fail here would end the process with another code than 1. */
function shownError(err: unknown): string {
  try {
    return err instanceof Error ? String(err.stack) : String(err);
  } catch {
    return 'an error that cannot be read';
  }
}
