import type { MessagePort } from 'node:worker_threads';

/** The other side cannot be asked: it is gone, or too much waits for it already. */
export class ChannelUnavailable extends Error {
  override readonly name = 'ChannelUnavailable';
}

/** An error that a handler of the other side threw: with its name, message and code, and the code of its cause. */
export class RemoteError extends Error {
  override readonly name: string;
  readonly code: string | number | undefined;

  constructor({ name, message, code, causeCode }: Fault) {
    super(message, causeCode === undefined ? undefined : { cause: { code: causeCode } });
    this.name = name;
    this.code = code;
  }
}

/** One end of the pipe to another process: a forked process, a worker of node:cluster, or `process` of one. Its serialization is `advanced`. */
export interface ProcessEnd {
  readonly connected?: boolean;
  isConnected?(): boolean;
  send?(message: unknown, onSent: (error: Error | null) => void): boolean;
  on(event: string, listener: (message: unknown) => void): unknown;
  off(event: string, listener: (message: unknown) => void): unknown;
}

type Handler = (payload: unknown) => unknown;

interface Fault {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number | undefined;
  readonly causeCode?: string | number | undefined;
}

/** A call without an id is not answered. */
interface Call {
  readonly id?: number;
  readonly name: string;
  readonly payload: unknown;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly fault?: Fault;
}

/** All that one side sent in one turn of its event loop. */
interface Batch {
  readonly calls: Call[];
  readonly answers: Answer[];
}

/** Requests without an answer and notices that have not been sent, by default. */
const default_max_waiting = 20_000;

/**
 * Requests and notices between two processes or threads, in their order, with everything of one turn of the event loop in one message.
 * Nothing has a time limit of its own. When the other side ends, what waits is rejected with ChannelUnavailable.
 */
export class Channel {
  readonly #end: ProcessEnd | MessagePort;
  readonly #max_waiting: number;
  readonly #handlers = new Map<string, Handler>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #onClosed: (() => void)[] = [];
  #notices = 0;
  #lastId = 0;
  #batch: Batch | undefined;
  #isClosed = false;

  constructor(end: ProcessEnd | MessagePort, { max_waiting = default_max_waiting } = {}) {
    this.#end = end;
    this.#max_waiting = max_waiting;
    const { on } = end as ProcessEnd;
    on.call(end, 'message', this.#receive);
    // Of a process, and of a port.
    for (const event of ['disconnect', 'close']) on.call(end, event, this.#ended);
    if ('connected' in end && end.connected === false) this.close();
  }

  /** False once the other side has ended, or `close` was called. */
  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Requests without an answer, and notices that have not been sent. */
  get waiting(): number {
    return this.#waiting.size + this.#notices;
  }

  /** Asks the other side's handler of this name. Rejects with its error as a RemoteError, or with ChannelUnavailable. */
  request(name: string, payload?: unknown): Promise<unknown> {
    const fault = this.#fault();
    if (fault) return Promise.reject(fault);
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#next().calls.push({ id, name, payload });
    return waiting.promise;
  }

  /** Tells the other side's handler of this name. False if it could not be sent; what the handler throws is lost. */
  notify(name: string, payload?: unknown): boolean {
    if (this.#fault()) return false;
    this.#notices++;
    this.#next().calls.push({ name, payload });
    return true;
  }

  /** Answers requests and takes notices of this name. A later handler takes the place of an earlier one. */
  handle(name: string, handler: Handler): this {
    this.#handlers.set(name, handler);
    return this;
  }

  /** Calls `listener` once, when the other side has ended or `close` was called; at once if that has been. */
  onClosed(listener: () => void): this {
    if (this.#isClosed) listener();
    else this.#onClosed.push(listener);
    return this;
  }

  /** Ends this end of the channel; what has not been sent is lost. The process or port itself goes on. */
  close(): void {
    this.#ended();
  }

  #fault(): ChannelUnavailable | undefined {
    if (this.#isClosed) return new ChannelUnavailable('the other process has ended');
    if (this.waiting >= this.#max_waiting)
      return new ChannelUnavailable('too much waits for the other process');
    return undefined;
  }

  #next(): Batch {
    if (!this.#batch) {
      this.#batch = { calls: [], answers: [] };
      setImmediate(this.#flush);
    }
    return this.#batch;
  }

  readonly #flush = (): void => {
    const batch = this.#batch!;
    this.#batch = undefined;
    if (this.#isClosed) return;
    try {
      this.#post(batch);
    } catch {
      // One value cannot be cloned: the others are sent without it.
      for (const call of batch.calls) this.#postAlone({ calls: [call], answers: [] });
      for (const answer of batch.answers) this.#postAlone({ calls: [], answers: [answer] });
    }
  };

  #postAlone(batch: Batch): void {
    try {
      this.#post(batch);
    } catch (thrown) {
      const { calls, answers } = batch;
      for (const { id } of calls) {
        if (id === undefined) this.#notices--;
        else this.#settle({ id, fault: faultOf(thrown) });
      }
      for (const { id } of answers) this.#post({ calls: [], answers: [{ id, fault: faultOf(thrown) }] });
    }
  }

  #post(batch: Batch): void {
    const notices = batch.calls.filter(({ id }) => id === undefined).length;
    const onSent = () => void (this.#notices -= notices);
    if ('postMessage' in this.#end) {
      this.#end.postMessage({ sluice: batch });
      onSent();
    } else this.#end.send?.({ sluice: batch }, onSent);
  }

  readonly #receive = (message: unknown): void => {
    const batch = (message as { sluice?: Batch } | null)?.sluice;
    if (!batch || this.#isClosed) return;
    for (const answer of batch.answers) this.#settle(answer);
    for (const call of batch.calls) this.#serve(call);
  };

  #settle({ id, value, fault }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (fault) waiting?.reject(new RemoteError(fault));
    else waiting?.resolve(value);
  }

  #serve({ id, name, payload }: Call): void {
    const answer = (answer: Omit<Answer, 'id'>) => {
      if (id !== undefined && !this.#isClosed) this.#next().answers.push({ id, ...answer });
    };
    const refuse = (thrown: unknown) => answer({ fault: faultOf(thrown) });
    const handler = this.#handlers.get(name);
    if (!handler) return refuse(new ChannelUnavailable(`the other process does not answer ${name}`));
    try {
      const value = handler(payload);
      // What is there already needs no further turn.
      if (value instanceof Promise) value.then(value => answer({ value }), refuse);
      else answer({ value });
    } catch (thrown) {
      refuse(thrown);
    }
  }

  readonly #ended = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { off } = this.#end as ProcessEnd;
    off.call(this.#end, 'message', this.#receive);
    for (const event of ['disconnect', 'close']) off.call(this.#end, event, this.#ended);
    for (const { reject } of this.#waiting.values())
      reject(new ChannelUnavailable('the other process has ended'));
    this.#waiting.clear();
    this.#notices = 0;
    for (const listener of this.#onClosed) listener();
  };
}

function faultOf(thrown: unknown): Fault {
  if (!(thrown instanceof Error)) return { name: 'Error', message: String(thrown) };
  const { name, message, code, cause } = thrown as Error & { code?: unknown };
  return {
    name,
    message,
    code: codeOf(code),
    causeCode: codeOf((cause as { code?: unknown } | undefined)?.code),
  };
}

const codeOf = (code: unknown): string | number | undefined =>
  typeof code === 'string' || typeof code === 'number' ? code : undefined;
