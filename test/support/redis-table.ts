import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { LeaseAnswer, LeaseMessage, LeaseTimes } from '../../src/records/lease-protocol.ts';
import type { FakeClock } from './fake-clock.ts';

export interface TableOptions {
  readonly url: string;
  readonly times: LeaseTimes;
  readonly answered: Int32Array;
}

/** A message to the thread that speaks to Redis. */
export interface Asked {
  readonly holder: string;
  readonly message: LeaseMessage;
  readonly key_prefix: string;
  readonly now_ms: number;
  readonly port: MessagePort;
}

/** The table of leases in Redis, asked in turns: this thread waits for the answer. */
export class RedisTable {
  readonly #worker: Worker;
  readonly #answered = new Int32Array(new SharedArrayBuffer(4));
  #begun = 0;

  constructor(url: string, times: LeaseTimes) {
    const workerData: TableOptions = { url, times, answered: this.#answered };
    this.#worker = new Worker(new URL('./redis-table-worker.ts', import.meta.url), {
      workerData,
      execArgv: ['--conditions=sluice-source'],
    });
    this.#worker.unref();
  }

  /** One that has counted nothing. Its time is the clock's since 1970. */
  begin(clock: FakeClock) {
    const key_prefix = `table-${++this.#begun}:`;
    const now_ms = () => clock.epoch_ms();
    return {
      exchange: (holder: string, message: LeaseMessage) =>
        this.#ask({ holder, message, key_prefix, now_ms: now_ms() }),
      takeAsked: () => [],
      look() {},
      now_ms,
    };
  }

  close(): Promise<unknown> {
    return this.#worker.terminate();
  }

  #ask(asked: Omit<Asked, 'port'>): LeaseAnswer {
    const { port1, port2: port } = new MessageChannel();
    this.#answered[0] = 0;
    this.#worker.postMessage({ ...asked, port }, [port]);
    Atomics.wait(this.#answered, 0, 0, 60_000);
    const answer = receiveMessageOnPort(port1)?.message as LeaseAnswer | string | undefined;
    port1.close();
    if (typeof answer !== 'object') throw new Error(answer ?? 'no answer');
    return answer;
  }
}
