import type { StdioOptions } from 'node:child_process';
import type { PrintingProcess } from '../../support/printing-process.ts';
import { startFile } from '../processes.ts';

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

  protected spawn(file: string, args: readonly string[], stdio?: StdioOptions): PrintingProcess {
    this.process = startFile(file, args, stdio ? { stdio } : {});
    return this.process;
  }
}

/** The port of an address; 0, which is any, before the first start. */
export const portOf = (url: string): number => (url === '' ? 0 : Number(new URL(url).port));
