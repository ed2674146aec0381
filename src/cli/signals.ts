import { standardOutput } from '../telemetry/standard-output.ts';

/** How a process ends. */
interface Ending {
  /** Ends in good order. */
  close(signal: NodeJS.Signals): Promise<void>;
  /** Cuts what still runs, so that `close` comes to its end soon. Without it a second signal exits at once. */
  abort?(): void;
}

/** The longest time from the second signal to the exit. */
const abort_ms = 10_000;
/** The longest wait at the exit for the reader of the log. */
const flush_ms = 1000;

/**
 * SIGTERM and SIGINT: the first runs `close` and exits 0; the second runs `abort`, and what `close` then comes to is followed by exit 1;
 * the third exits at once. No exit waits longer than a second for a log that is not read.
 */
export function onSignal({ close, abort }: Ending): void {
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

/** SIGHUP, as at the end of a terminal session, would end the process: Node's default. Here it does nothing. */
export function ignoreHangUp(): void {
  process.on('SIGHUP', () => {});
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  exit(1);
}

async function exit(code: number): Promise<void> {
  const lost_lines = await standardOutput.flush(flush_ms);
  if (lost_lines > 0)
    process.stderr.write(`${lost_lines} log lines were lost because standard output was not read\n`);
  process.exit(code);
}
