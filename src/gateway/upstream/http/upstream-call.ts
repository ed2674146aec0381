import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { refusal } from '../../exchange/errors.ts';
import {
  type ConnectionUse,
  type ConnectionUser,
  isStale,
  type UpstreamConnection,
} from './upstream-connection.ts';

/** Unread bytes above which the upstream is paused, until they have been read. */
const high_water_bytes = 256 * 1024;

export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** What a call is made for. */
export interface CallOwner {
  /** Takes the head of the reply, in the turn in which it arrives. */
  responded(head: ResponseHead): void;
  /** Takes the error that ended the call before a head came. */
  failed(error: Error): void;
}

/** Takes a body in the turn in which it arrives. */
export interface BodyConsumer {
  /** False asks for a pause until `resume`. */
  bytes(part: Buffer): boolean;
  end(): void;
  fail(error: Error): void;
}

/** A body that is pushed to one consumer. */
export interface Body {
  /** Pushes the bytes so far and all that follow. */
  readInto(consumer: BodyConsumer): void;
  /** Continues after a pause. */
  resume(): void;
  /** Ends the body; its consumer gets `reason`. Does nothing once it has ended. */
  cancel(reason: Error): void;
  /** Discards the rest of a body that is about to end, for at most `patience_ms`, so that its connection can be used again. */
  release(patience_ms: number): void;
}

/** Error for an upstream that answers 101 unasked. */
export const switchedProtocols = (): Error =>
  refusal('provider_invalid', { cause: new Error('the upstream switched protocols unasked') });

/**
 * One HTTP request to an upstream, on undici's lowest level: the head goes to its owner, the body to a consumer. Pauses the socket while
 * too many bytes wait for a consumer. `cancel` closes the connection.
 */
export class UpstreamCall implements ConnectionUser, Body {
  /** True once a byte of the body has arrived. */
  hasBody = false;
  /** True if the call failed because the server had closed a kept connection, and sent nothing of a reply. */
  isStale = false;
  connection: UpstreamConnection | undefined;
  readonly #owner: CallOwner;
  #hasHead = false;
  #use: ConnectionUse | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #queue: Buffer[] = [];
  #queued_bytes = 0;
  #ended = false;
  #error: Error | undefined;
  #released: NodeJS.Timeout | undefined;
  #consumer: BodyConsumer | undefined;

  constructor(owner: CallOwner) {
    this.#owner = owner;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#use = this.connection?.use();
    if (this.#error) controller.abort(this.#error);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // A stream would keep them, and the whole read that they came in, to its end.
    controller.rawHeaders = null;
    this.#use = undefined;
    // Bytes after 101 are not HTTP; other interim replies are ignored.
    if (status === 101) this.cancel(switchedProtocols());
    if (status < 200 || this.#ended) return;
    this.#hasHead = true;
    this.#owner.responded({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.hasBody = true;
    if (this.#released || this.#ended) return;
    if (this.#consumer) {
      if (!this.#consumer.bytes(bytes)) controller.pause();
      return;
    }
    this.#queue.push(bytes);
    this.#queued_bytes += bytes.length;
    if (this.#queued_bytes > high_water_bytes) controller.pause();
  }

  onResponseEnd(): void {
    this.#ended = true;
    clearTimeout(this.#released);
    this.#consumer?.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#ended = true;
    clearTimeout(this.#released);
    this.isStale = !this.#error && this.#use !== undefined && isStale(this.#use, error);
    this.#fail((this.#error ??= error));
  }

  cancel(reason: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = reason;
    this.#queue = [];
    this.#controller?.abort(reason);
    this.#fail(reason);
  }

  #fail(error: Error): void {
    if (this.#hasHead) this.#consumer?.fail(error);
    else this.#owner.failed(error);
  }

  release(patience_ms: number): void {
    if (this.#ended || this.#released) return;
    this.#queue = [];
    this.#queued_bytes = 0;
    this.#released = setTimeout(
      () => this.cancel(new Error('the upstream did not end its reply')),
      patience_ms,
    ).unref();
    this.resume();
  }

  readInto(consumer: BodyConsumer): void {
    this.#consumer = consumer;
    const parts = this.#queue;
    this.#queue = [];
    this.#queued_bytes = 0;
    let more = true;
    for (const part of parts) more = consumer.bytes(part);
    if (this.#ended) {
      if (this.#error) consumer.fail(this.#error);
      else consumer.end();
    } else if (more) this.resume();
  }

  resume(): void {
    if (this.#controller?.paused) this.#controller.resume();
  }
}
