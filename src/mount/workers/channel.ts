import { deserialize, serialize } from 'node:v8';
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

/** One end of the pipe to another process: a child process, or `process` of one. Its serialization is `advanced`, at half the cost of `json` for texts. */
export interface ProcessEnd {
  readonly connected?: boolean;
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

/** A value as it is sent: null for undefined, and as bytes what is not a text, number or boolean. */
type Sent = string | number | boolean | null | Uint8Array;

/** A call with the id 0 is a notice, and is not answered. */
type Call = readonly [id: number, name: string, payload: Sent];
type Answer = readonly [id: number, value: Sent, fault?: Fault];

/** What one side has sent since its last message. */
type Batch = readonly [calls: Call[], answers: Answer[]];

/** Requests without an answer and notices that have not been sent, by default. */
const default_max_waiting = 20_000;

/**
 * Requests and notices between two processes or threads, in their order. What is sent in one turn of the event loop goes in one message,
 * perhaps with what was sent before.
 * Nothing has a time limit of its own. When the other side ends, what waits is rejected with ChannelUnavailable.
 *
 * Any value that the structured clone algorithm takes can be sent. Texts and numbers cost a fifth of objects: what is sent with every
 * request is a text.
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
  /** Set while what was sent last has no answer yet. */
  #isAwaited = false;
  #timer: NodeJS.Timeout | undefined;
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

  /** Asks the other side's handler of this name. Rejects with its error as a RemoteError, with ChannelUnavailable, or if `payload` cannot be cloned. */
  async request(name: string, payload?: unknown): Promise<unknown> {
    const fault = this.#fault();
    if (fault) throw fault;
    const sent = pack(payload);
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#next()[0].push([id, name, sent]);
    return waiting.promise;
  }

  /** Tells the other side's handler of this name. False if it could not be sent; what the handler throws is lost. Throws if `payload` cannot be cloned. */
  notify(name: string, payload?: unknown): boolean {
    if (this.#fault()) return false;
    const sent = pack(payload);
    this.#notices++;
    this.#next()[0].push([0, name, sent]);
    return true;
  }

  /** Sends what waits at once, and not at the end of this turn. */
  flush(): void {
    this.#send();
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

  /** A message costs much more than what is in it: while one waits for its answer the next is filled, for a millisecond at most. */
  #next(): Batch {
    if (!this.#batch) {
      this.#batch = [[], []];
      if (this.#isAwaited) this.#timer = setTimeout(this.#send, 1);
      else setImmediate(this.#send);
    }
    return this.#batch;
  }

  readonly #send = (): void => {
    const batch = this.#batch;
    this.#batch = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Sent before its turn, or never.
    if (!batch || this.#isClosed) return;
    const notices = batch[0].filter(([id]) => id === 0).length;
    if (notices < batch[0].length) this.#isAwaited = true;
    const onSent = () => void (this.#notices -= notices);
    if ('postMessage' in this.#end) {
      this.#end.postMessage({ sluice: batch });
      onSent();
    } else this.#end.send?.({ sluice: batch }, onSent);
  };

  readonly #receive = (message: unknown): void => {
    const batch = (message as { sluice?: Batch } | null)?.sluice;
    if (!batch || this.#isClosed) return;
    const [calls, answers] = batch;
    for (const answer of answers) this.#settle(answer);
    for (const call of calls) this.#serve(call);
    if (answers.length === 0) return;
    this.#isAwaited = false;
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Those whose answers have come ask more in this turn.
    setImmediate(this.#send);
  };

  #settle([id, value, fault]: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (fault) waiting?.reject(new RemoteError(fault));
    else waiting?.resolve(unpack(value));
  }

  #serve([id, name, payload]: Call): void {
    const refuse = (thrown: unknown) => this.#answer([id, null, faultOf(thrown)]);
    const answer = (value: unknown) => this.#answer([id, id === 0 ? null : pack(value)]);
    const handler = this.#handlers.get(name);
    if (!handler) return refuse(new ChannelUnavailable(`the other process does not answer ${name}`));
    try {
      const value = handler(unpack(payload));
      // What is there already needs no further turn.
      if (value instanceof Promise) value.then(answer).catch(refuse);
      else answer(value);
    } catch (thrown) {
      refuse(thrown);
    }
  }

  #answer(answer: Answer): void {
    if (answer[0] !== 0 && !this.#isClosed) this.#next()[1].push(answer);
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

function pack(value: unknown): Sent {
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return value as Sent;
  return value === undefined ? null : serialize(value);
}

function unpack(sent: Sent): unknown {
  if (sent === null) return undefined;
  return ArrayBuffer.isView(sent) ? deserialize(sent) : sent;
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
