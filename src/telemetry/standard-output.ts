/** Bytes of log lines that may wait for the reader of standard output; lines above this are dropped and counted. */
const max_waiting_bytes = 4 * 1024 * 1024;

/**
 * The destination of the log. A reader that hangs, or has closed the pipe, never blocks the process and never ends it: lines wait in
 * memory up to a bound, then they are dropped. pino's own destination writes synchronously and would block with the pipe.
 */
class StandardOutput {
  /** Log lines that were never written, since the start of the process. */
  dropped_lines = 0;
  #reported_lines = 0;
  #waiting_lines = 0;
  #isWatched = false;
  #whenWritten: (() => void) | undefined;

  /** Writes one line, or counts it as dropped. */
  write(line: string): void {
    const { stdout } = process;
    if (!this.#isWatched) {
      this.#isWatched = true;
      // EPIPE when the reader has gone: without a listener it would end the process.
      stdout.on('error', () => {});
    }
    if (!stdout.writable || stdout.writableLength > max_waiting_bytes) {
      this.dropped_lines++;
      return;
    }
    if (this.dropped_lines > this.#reported_lines) this.#report();
    this.#send(line);
  }

  /** Resolves when everything is written, or after `limit_ms`; with the number of lines that were lost, dropped ones included. */
  async flush(limit_ms: number): Promise<number> {
    if (this.#waiting_lines > 0 && process.stdout.writable) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, limit_ms);
        this.#whenWritten = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.dropped_lines + this.#waiting_lines;
  }

  #send(line: string): void {
    this.#waiting_lines++;
    process.stdout.write(line, this.#written);
  }

  readonly #written = (error?: Error | null): void => {
    this.#waiting_lines--;
    if (error) this.dropped_lines++;
    if (this.#waiting_lines === 0) this.#whenWritten?.();
  };

  #report(): void {
    const dropped_lines = this.dropped_lines - this.#reported_lines;
    this.#reported_lines = this.dropped_lines;
    const time = new Date().toISOString();
    const msg = 'log lines were dropped because standard output was not read';
    this.#send(`${JSON.stringify({ level: 40, time, dropped_lines, msg })}\n`);
  }
}

/** The one of this process. */
export const standardOutput = new StandardOutput();
