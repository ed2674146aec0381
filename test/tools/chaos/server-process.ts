import type { StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PrintingProcess } from '../../support/printing-process.ts';

/** Starting takes a second or two; on a machine that is busy with other tests many more. */
export const start_ms = 60_000;
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A program of the repository that can be killed, paused, and started again at the same address. */
export class ServerProcess {
  readonly name: string;
  url = '';
  isPaused = false;
  protected process: PrintingProcess | undefined;

  constructor(name: string) {
    this.name = name;
  }

  get pid(): number {
    return this.process?.pid ?? 0;
  }

  /** SIGSTOP: its connections stay open and nothing is answered. */
  pause(): void {
    this.isPaused = true;
    this.process?.signal('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.process?.signal('SIGCONT');
    this.isPaused = false;
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.process?.signal('SIGKILL');
    await this.process?.exited;
  }

  protected spawn(args: readonly string[], stdio: StdioOptions): PrintingProcess {
    const command = ['--conditions=sluice-source', ...args];
    this.process = new PrintingProcess(process.execPath, command, { cwd: root, stdio });
    return this.process;
  }
}

/** The port of an address; 0, which is any, before the first start. */
export const portOf = (url: string): number => (url === '' ? 0 : Number(new URL(url).port));
