import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { failAfter } from './until.ts';

/** Starting takes a second, on a machine that has nothing else to do. */
const start_ms = 10_000;

const setpriv = '/usr/bin/setpriv';
/** Lets a process end with the one that has started it, also when that is killed: a run that is cut off leaves none behind, on Linux. */
export const dyingWithTests: readonly string[] =
  process.platform === 'linux' && existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];

/** Those that run, of all test files of this process: the test environment ends what a file leaves behind. */
const running: Set<ChildProcess> = ((globalThis as Record<symbol, unknown>)[
  Symbol.for('sluice-tests.children')
] ??= new Set()) as Set<ChildProcess>;

/** A child process and what it prints. */
export class PrintingProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  /** Whether standard output is kept. */
  keepsOutput = true;
  /** The exit code, once it has ended and its output is read; null if a signal has killed it. */
  readonly exited: Promise<number | null>;
  readonly #readers = new Set<() => void>();

  /** `cleanUp` is called when it has ended, and awaited by `exited`. */
  constructor(
    command: string,
    args: readonly string[],
    options: SpawnOptions = {},
    cleanUp: () => Promise<void> = async () => {},
  ) {
    const [program, ...words] = [...dyingWithTests, command, ...args];
    this.child = spawn(program!, words, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    this.child.stdout?.setEncoding('utf8').on('data', text => this.#printed('stdout', text));
    this.child.stderr?.setEncoding('utf8').on('data', text => this.#printed('stderr', text));
    const closed = new Promise<number | null>((resolve, reject) => {
      this.child.once('error', reject).once('close', code => resolve(code));
    });
    running.add(this.child);
    this.exited = closed.finally(() => running.delete(this.child)).finally(cleanUp);
    this.exited.catch(() => {});
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  output = (): string => this.stdout + this.stderr;

  signal = (name: NodeJS.Signals): void => void this.child.kill(name);

  /** Whether the process has ended, also while its output is not read. */
  hasEnded = (): boolean => this.child.exitCode !== null || this.child.signalCode !== null;

  /** Resolves with the match once the output matches. Kills the process and rejects, with all it printed, when it ends first or takes too long. */
  async printed(pattern: RegExp, within_ms = start_ms): Promise<RegExpExecArray> {
    let stop = () => {};
    let look = () => {};
    try {
      return await new Promise((resolve, reject) => {
        const fail = (why: string) => reject(new Error(`the process ${why}; it printed: ${this.output()}`));
        look = () => {
          const match = pattern.exec(this.output());
          if (match) resolve(match);
        };
        stop = failAfter(within_ms, () => fail(`did not print ${pattern} within ${within_ms} ms`));
        this.exited.then(code => fail(`exited with ${code}`), reject);
        this.#readers.add(look);
        look();
      });
    } catch (error) {
      this.child.kill('SIGKILL');
      throw error;
    } finally {
      stop();
      this.#readers.delete(look);
    }
  }

  #printed(stream: 'stdout' | 'stderr', text: string): void {
    if (stream === 'stderr' || this.keepsOutput) this[stream] += text;
    for (const look of this.#readers) look();
  }
}
