import { randomUUID } from 'node:crypto';
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
  readonly #name = randomUUID();
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
    const key_prefix = `${this.#name}-${++this.#begun}:`;
    const now_ms = () => clock.epoch_ms();
    const holders = new Set<string>();
    const asked: (readonly [holder: string, account: string])[] = [];
    return {
      exchange: (holder: string, message: LeaseMessage) => {
        // Nothing was used before the table began, whatever a ledger would know.
        const rows = message.rows.map(row => ({ ...row, past: 0 }));
        const answer = this.#ask({ holder, message: { ...message, rows }, key_prefix, now_ms: now_ms() });
        holders.add(holder);
        // The holder tells all others.
        if (answer.counted?.verdicts.some(({ is_held }) => is_held))
          for (const other of holders) if (other !== holder) asked.push([other, message.account]);
        return answer;
      },
      takeAsked: () => asked.splice(0),
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
    let received = receiveMessageOnPort(port1);
    // It is there a moment later than the signal.
    for (let tries = 0; !received && tries < 1000; tries++) {
      Atomics.wait(this.#answered, 0, 1, 1);
      received = receiveMessageOnPort(port1);
    }
    const answer = received?.message as LeaseAnswer | string | undefined;
    port1.close();
    if (typeof answer !== 'object') throw new Error(answer ?? 'no answer');
    return answer;
  }
}
