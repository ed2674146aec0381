import { standardOutput } from '../telemetry/standard-output.ts';

interface Shutdown {
  /** Shuts down gracefully. */
  close(signal: NodeJS.Signals): Promise<void>;
  /** Aborts running work, so that `close` resolves soon. Without it a second signal exits at once. */
  abort?(): void;
  /** Reports why `close` has rejected; by default on standard error. The exit code is 1 then. */
  failed?(error: unknown): void;
}

/** Longest time from the second signal to the exit. */
const abort_ms = 10_000;
/** Longest wait at the exit for the log to be read. */
const flush_ms = 1000;

/** On SIGTERM and SIGINT: the first runs `close` and exits 0; the second runs `abort`, and the exit after `close` is 1; the third exits at once. */
export function onSignal({ close, abort, failed = printError }: Shutdown): void {
  const fail = (error: unknown) => {
    failed(error);
    void exit(1);
  };
  let count = 0;
  const stop = (signal: NodeJS.Signals) => {
    count++;
    if (count === 1) return void close(signal).then(() => exit(count > 1 ? 1 : 0), fail);
    if (count > 2 || !abort) process.exit(1);
    setTimeout(() => exit(1), abort_ms);
    abort();
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}

function printError(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
}

/** Ends the process once the log has been read, or has not been for a second; lines that are lost are counted on standard error. */
export async function exit(code: number): Promise<void> {
  const lost_lines = await standardOutput.flush(flush_ms);
  if (lost_lines > 0)
    process.stderr.write(`${lost_lines} log lines were lost because standard output was not read\n`);
  process.exit(code);
}
