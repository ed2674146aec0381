import { setTimeout as after } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { requestBytes } from './conversation.ts';
import type { RequestJob, RequestResult } from './jobs.ts';
import { quantile } from './statistics.ts';
import { startStopwatch } from './stopwatch.ts';
import { type Task, tasks } from './tasks.ts';

/** How long the last replies may take after the measurement. */
const patience_ms = 5000;

/** A closed loop: every connection sends its next request when it has the reply to the last one. Throws at the first bad reply. */
export async function measureRequests(job: RequestJob): Promise<RequestResult> {
  const task = tasks[job.task];
  const request = requestBytes(job.port, job.headers, task.path, task.body);
  const record: Record = { measuring: false, stopped: false, latencies_ms: [], replies: 0, fault: undefined };
  const clients = Array.from({ length: job.connections }, () => new Client(job.port, task, request, record));
  try {
    for (const client of clients) client.begin();
    await untilOver(job.warmup_ms, record);
    const stop = startStopwatch(job);
    record.measuring = true;
    await untilOver(job.measure_ms, record);
    record.measuring = false;
    const window = stop();
    record.stopped = true;
    await untilAllIdle(clients, record);
    const sorted = Float64Array.from(record.latencies_ms).sort();
    return {
      kind: 'requests',
      ...window,
      requests: sorted.length,
      replies: record.replies,
      p50_ms: quantile(sorted, 0.5),
      p99_ms: quantile(sorted, 0.99),
    };
  } finally {
    for (const client of clients) client.close();
  }
}

interface Record {
  measuring: boolean;
  stopped: boolean;
  latencies_ms: number[];
  replies: number;
  fault: Error | undefined;
}

async function untilOver(ms: number, record: Record): Promise<void> {
  await after(ms);
  if (record.fault) throw record.fault;
}

async function untilAllIdle(clients: readonly Client[], record: Record): Promise<void> {
  const deadline_ms = performance.now() + patience_ms;
  while (clients.some(client => client.waiting)) {
    await untilOver(20, record);
    if (performance.now() > deadline_ms) throw new Error('replies are missing at the end');
  }
}

/** One connection of the loop. The first reply is read in full; all others must be of its length. */
class Client {
  waiting = false;
  readonly #task: Task;
  readonly #request: Buffer;
  readonly #record: Record;
  readonly #connection: Connection;
  #sent_ms = 0;
  #first: Buffer[] | undefined = [];
  #expected_bytes = 0;
  #bytes = 0;

  constructor(port: number, task: Task, request: Buffer, record: Record) {
    this.#task = task;
    this.#request = request;
    this.#record = record;
    this.#connection = new Connection(port, {
      onHead: status => this.#head(status),
      onBody: bytes => this.#body(bytes),
      onEnd: () => this.#end(),
      onFault: error => this.#fail(error.message),
    });
  }

  begin(): void {
    this.waiting = true;
    this.#sent_ms = performance.now();
    this.#connection.send(this.#request);
  }

  close(): void {
    this.#connection.close();
  }

  #head(status: number): void {
    this.#bytes = 0;
    if (status !== 200) this.#fail(`a reply with status ${status}`);
  }

  #body(bytes: Buffer): void {
    this.#bytes += bytes.length;
    this.#first?.push(Buffer.from(bytes));
  }

  #end(): void {
    this.waiting = false;
    if (this.#first) this.#checkFirst(Buffer.concat(this.#first).toString());
    else if (this.#bytes !== this.#expected_bytes)
      this.#fail(`a reply of ${this.#bytes} bytes after one of ${this.#expected_bytes}`);
    this.#record.replies++;
    const { measuring, stopped, latencies_ms, fault } = this.#record;
    if (measuring) latencies_ms.push(performance.now() - this.#sent_ms);
    if (!stopped && !fault) this.begin();
  }

  #checkFirst(text: string): void {
    this.#first = undefined;
    this.#expected_bytes = this.#bytes;
    if (!this.#task.isAnswered(text)) this.#fail(`a reply that is not the upstream's: ${text.slice(0, 200)}`);
  }

  #fail(message: string): void {
    this.waiting = false;
    this.#record.fault ??= new Error(message);
  }
}
