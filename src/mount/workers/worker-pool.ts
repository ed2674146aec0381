import type { ChildProcess } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { within } from '../../common/within.ts';
import type { Log } from '../../telemetry/log.ts';
import type { WorkerPoolMetrics } from '../../telemetry/worker-pool-metrics.ts';
import { ChannelUnavailable } from './channel.ts';
import { type Closing, type WorkerEnd, WorkerProcess } from './worker-process.ts';
import type { Workers } from './workers.ts';

/** What workers serve. Everything but `count` is sent to them. */
export interface WorkerSpec {
  readonly count: number;
  /** The configuration, which a worker can take while it serves. */
  readonly config: unknown;
  /** The public listener: a worker with another one is replaced. */
  readonly listener: unknown;
}

export interface WorkerPoolSetup {
  readonly log: Log;
  readonly metrics: WorkerPoolMetrics;
  /** What serves each process that is started, before it can ask anything. */
  readonly workers: Workers;
  /** Starts a process, with these variables beside those of this one. */
  fork(environment: Readonly<Record<string, string>>): ChildProcess;
}

/** Wait before a worker that has ended is replaced: doubled for each that follows soon, up to the longest. */
const first_delay_ms = 100;
const max_delay_ms = 10_000;
/** A worker that has lived for this long did not end because of its start. */
const steady_ms = 60_000;
/** Starts in a row that may fail before none is expected to succeed. */
const max_attempts = 3;
/** How often workers are asked whether they still answer. */
const look_ms = 1000;
/** A worker that has not answered so often is not ready. Looks are counted, not time: this process may have been stopped itself. */
const slow_looks = 3;
/** Then it is killed and replaced: its event loop is blocked, and clients whose connections it has wait in vain. */
const hung_looks = 15;
/** The same while it starts: on a busy machine it loads for long. */
const start_looks = 120;
/** Longest time for a worker to take a configuration: plugins have 10 seconds each to load. */
const reload_ms = 30_000;

/** The place of one worker. */
interface Slot {
  readonly number: number;
  current: WorkerProcess | undefined;
  /** What the current one listens at. */
  listener: unknown;
  /** Ends in a row, each soon after its start. */
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/** The processes that serve the public address: starts them, replaces those that end, and hands each configuration over to all of them. */
export class WorkerPool {
  #spec: WorkerSpec;
  readonly #setup: WorkerPoolSetup;
  #slots: Slot[] = [];
  /** All that run, also those that are being replaced. */
  readonly #processes = new Set<WorkerProcess>();
  readonly #started = Promise.withResolvers<void>();
  #hasServed = false;
  #version = 0;
  #adjusting: Promise<void> = Promise.resolve();
  #isClosing = false;
  #looking: NodeJS.Timeout | undefined;
  /** Where they serve, once one does. */
  url: string | undefined;

  constructor(spec: WorkerSpec, setup: WorkerPoolSetup) {
    this.#spec = spec;
    this.#setup = setup;
    setup.metrics.watch(() => ({ ready: this.ready, all: this.size }));
  }

  /** Number of workers that there should be. */
  get size(): number {
    return this.#slots.length;
  }

  /** Number of workers that serve. */
  get ready(): number {
    return this.#slots.filter(({ current }) => current?.isReady && current.unanswered < slow_looks).length;
  }

  /**
   * Starts all. Resolves when one serves and every other has, or has failed to start and is started again. Rejects when one says that it
   * cannot start, or three starts in a row failed, while none has ever served.
   */
  start(): Promise<void> {
    this.#looking = setInterval(() => this.#look(), look_ms).unref();
    this.#resize();
    return this.#started.promise;
  }

  /**
   * Hands `spec` over to all workers. Rejects if one refuses it; then none serves it. Returns what lets them go back. Another number of
   * workers, and another listener, are taken over afterwards, one worker after the other.
   */
  async serve(spec: WorkerSpec): Promise<() => Promise<void>> {
    const former = this.#spec;
    this.#use(spec);
    const asked = this.#serving();
    const answers = await Promise.allSettled(asked.map(worker => this.#reload(worker)));
    // One that ends meanwhile is replaced, and begins with this configuration.
    const refusal = answers.findIndex(
      answer => answer.status === 'rejected' && !(answer.reason instanceof ChannelUnavailable),
    );
    if (refusal !== -1) {
      await this.#goBack(former);
      const { reason } = answers[refusal] as PromiseRejectedResult;
      throw new Error(`worker ${asked[refusal]!.number} refused it: ${(reason as Error).message}`);
    }
    this.#adjust(former);
    return () => this.#goBack(former);
  }

  /** Ends all. Resolves when all have ended; those that take longer than `limit_ms` are killed. */
  async close(closing: Closing, limit_ms: number): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#looking);
    for (const { timer } of this.#slots) clearTimeout(timer);
    const all = [...this.#processes];
    for (const worker of all) worker.close(closing);
    const timer = setTimeout(() => {
      for (const worker of all) worker.kill();
    }, limit_ms);
    await Promise.all(all.map(({ ended }) => ended));
    clearTimeout(timer);
  }

  /** Lets running exchanges of all workers end with an error. */
  abort(): void {
    for (const worker of this.#processes) worker.abort();
  }

  /** Asks each worker whether it serves; kills those that have not answered for too long. */
  #look(): void {
    for (const { current: worker } of this.#slots) {
      if (!worker) continue;
      const { number, pid, unanswered } = worker;
      if (unanswered < (worker.isReady ? hung_looks : start_looks)) worker.look();
      else {
        this.#setup.log.error({ worker: number, pid, unanswered }, 'worker does not answer and is killed');
        worker.kill();
      }
    }
  }

  #serving(): WorkerProcess[] {
    return this.#slots.flatMap(({ current }) => (current?.isReady ? current : []));
  }

  #use(spec: WorkerSpec): void {
    this.#spec = spec;
    this.#version++;
  }

  /** Lets all workers serve `former` again. One that cannot is replaced: a new process begins with it. */
  async #goBack(former: WorkerSpec): Promise<void> {
    this.#use(former);
    await Promise.all(this.#serving().map(worker => this.#reload(worker).catch(() => worker.kill())));
    this.#adjust(former);
  }

  /** Rejects with the worker's refusal, or with ChannelUnavailable if it has ended: it is killed when it does not answer. */
  async #reload(worker: WorkerProcess): Promise<void> {
    const { config } = this.#spec;
    const version = this.#version;
    const late = () => new ChannelUnavailable('no answer');
    await within(worker.channel.request('reload', config), reload_ms, late).catch(thrown => {
      if (thrown instanceof ChannelUnavailable) worker.kill();
      throw thrown;
    });
    worker.version = version;
  }

  /** Starts a process for `slot`, which may have one still. It asks for its configuration as soon as it can. */
  #fork({ number }: Slot, listener: unknown): WorkerProcess {
    const worker = new WorkerProcess(number, this.#setup.fork({ SLUICE_WORKER: `${number}` }));
    this.#processes.add(worker);
    void worker.ended.then(() => this.#processes.delete(worker));
    worker.channel.handle('start', () => {
      worker.version = this.#version;
      return { config: this.#spec.config, listener };
    });
    this.#setup.workers.add(number, worker.channel);
    return worker;
  }

  /** Resolves when `worker` serves the configuration that is in use now. Rejects when it has ended. */
  async #whenReady(worker: WorkerProcess): Promise<void> {
    this.url = await worker.ready;
    while (worker.version !== this.#version) await this.#reload(worker);
    worker.isReady = true;
    const { pid } = worker;
    this.#setup.log.info({ worker: worker.number, pid }, 'worker is ready');
  }

  #begin(slot: Slot): void {
    slot.listener = this.#spec.listener;
    const worker = this.#fork(slot, slot.listener);
    slot.current = worker;
    void this.#whenReady(worker).then(
      () => this.#serves(),
      () => worker.kill(),
    );
    void worker.ended.then(end => this.#ended(slot, worker, end));
  }

  #serves(): void {
    this.#hasServed = true;
    this.#lookAtStart();
  }

  /** Replaces a worker that has ended by itself, after a while. */
  #ended(slot: Slot, worker: WorkerProcess, end: WorkerEnd): void {
    if (this.#isClosing || slot.current !== worker) return;
    const { log, metrics } = this.#setup;
    slot.current = undefined;
    slot.failures = end.lived_ms < steady_ms ? slot.failures + 1 : 1;
    if (!this.#hasServed && (end.fault !== undefined || slot.failures >= max_attempts))
      return this.#started.reject(
        new Error(end.fault ?? `no worker could be started: the last one ${shown(end)}`),
      );
    const restart_ms = Math.min(max_delay_ms, first_delay_ms * 2 ** (slot.failures - 1));
    metrics.restarted();
    log.error(
      { worker: slot.number, pid: worker.pid, ...end, lived_ms: Math.round(end.lived_ms), restart_ms },
      'worker ended, another one is started',
    );
    slot.timer = setTimeout(() => this.#begin(slot), restart_ms);
    this.#lookAtStart();
  }

  #lookAtStart(): void {
    const isDecided = ({ current, failures }: Slot) => current?.isReady || failures > 0;
    if (this.#hasServed && this.#slots.every(isDecided)) this.#started.resolve();
  }

  /** Takes over the number of workers and the listener, after what is being taken over. */
  #adjust(former: WorkerSpec): void {
    this.#adjusting = this.#adjusting.then(async () => {
      if (this.#isClosing) return;
      this.#resize();
      await this.#roll().catch(err => this.#rolledBack(err, former));
    });
  }

  #resize(): void {
    const { count } = this.#spec;
    this.#setup.workers.size = count;
    for (const slot of this.#slots.splice(count)) {
      clearTimeout(slot.timer);
      const { current } = slot;
      slot.current = undefined;
      current?.close({ unready_ms: 0, isReplaced: true });
    }
    while (this.#slots.length < count) {
      const slot: Slot = {
        number: this.#slots.length + 1,
        current: undefined,
        listener: undefined,
        failures: 0,
        timer: undefined,
      };
      this.#slots.push(slot);
      this.#begin(slot);
    }
  }

  /** Replaces all workers whose listener is not the one that is wanted now, one after the other. */
  async #roll(): Promise<void> {
    const old = this.#slots.filter(({ listener }) => !isDeepStrictEqual(listener, this.#spec.listener));
    if (old.length === 0) return;
    this.#setup.log.info({ workers: old.length }, 'workers are replaced one after the other');
    for (const slot of old) if (!this.#isClosing) await this.#replace(slot);
    this.#setup.log.info({ workers: old.length }, 'workers are replaced');
  }

  /** Starts another worker in the place of one, which ends once the other serves. */
  async #replace(slot: Slot): Promise<void> {
    const { listener } = this.#spec;
    const next = this.#fork(slot, listener);
    try {
      await this.#whenReady(next);
    } catch (thrown) {
      next.kill();
      throw thrown;
    }
    const before = slot.current;
    clearTimeout(slot.timer);
    Object.assign(slot, { current: next, listener, failures: 0, timer: undefined });
    void next.ended.then(end => this.#ended(slot, next, end));
    before?.close({ unready_ms: 0, isReplaced: true });
    await before?.ended;
  }

  /** A worker could not listen: all keep the former listener, until a configuration has another one. */
  async #rolledBack(err: unknown, { listener }: WorkerSpec): Promise<void> {
    if (this.#isClosing) return;
    this.#setup.log.error({ err }, 'a new worker could not start, the workers keep their former listener');
    this.#spec = { ...this.#spec, listener };
    await this.#roll().catch(err =>
      this.#setup.log.error({ err }, 'failed to go back to the former listener'),
    );
  }
}

const shown = ({ code, signal }: WorkerEnd): string =>
  signal === null ? `exited with ${code}` : `was ended by ${signal}`;
