import type { ChildProcess } from 'node:child_process';
import { Channel, ChannelUnavailable } from './channel.ts';

/** How a worker ends: within `unready_ms` for load balancers, and when running exchanges have finished. */
export interface Closing {
  readonly unready_ms: number;
  /** Whether other processes go on to serve its address. */
  readonly isReplaced: boolean;
}

/** How a process has ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly lived_ms: number;
  /** What it has said of the reason. */
  readonly fault: string | undefined;
}

/** The process of one worker, from its start to its end. */
export class WorkerProcess {
  /** From 1; a process in the place of another has its number. */
  readonly number: number;
  readonly channel: Channel;
  /** Resolves when it serves, with its address. Rejects when it ends before. */
  readonly ready: Promise<string>;
  readonly ended: Promise<WorkerEnd>;
  /** Whether it serves, and was not asked to end. */
  isReady = false;
  /** Which configuration it began with; set when it has asked for one. */
  version = -1;
  readonly #process: ChildProcess;
  #unanswered = 0;

  /** A process that was just started, with a pipe for messages. */
  constructor(number: number, worker: ChildProcess) {
    this.number = number;
    const began_ms = performance.now();
    this.#process = worker;
    // A message to one that has just ended; what waits for an answer is rejected by the channel.
    worker.on('error', () => {});
    this.channel = new Channel(worker);
    const ready = Promise.withResolvers<string>();
    let fault: string | undefined;
    this.channel
      .handle('ready', url => ready.resolve(url as string))
      .handle('failed', message => void (fault = message as string));
    this.ready = ready.promise;
    this.ready.catch(() => {});
    this.ended = new Promise(resolve => {
      worker.once('exit', (code: number | null, signal: string | null) => {
        this.isReady = false;
        ready.reject(new ChannelUnavailable(fault ?? 'the process has ended'));
        resolve({ code, signal, lived_ms: performance.now() - began_ms, fault });
      });
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** How often `look` was called since it last answered. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Asks whether it still answers, unless it was asked and has not. One that starts refuses to, which is an answer. */
  look(): void {
    if (this.#unanswered++ > 0) return;
    const answered = () => void (this.#unanswered = 0);
    this.channel.request('alive').then(answered, answered);
  }

  /** Asks it to end. */
  close(closing: Closing): void {
    this.isReady = false;
    this.channel.notify('close', closing);
  }

  /** Asks it to end running exchanges with an error. */
  abort(): void {
    this.channel.notify('abort');
  }

  /** Ends it at once, with all that it does. */
  kill(): void {
    this.#process.kill('SIGKILL');
  }
}
