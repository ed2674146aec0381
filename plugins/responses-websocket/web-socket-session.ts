import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import {
  type Clock,
  callHandler,
  errorCatalogue,
  GatewayError,
  type GenerationFormat,
  invalidField,
  type Json,
  refusal,
  type SseEvent,
  SseParser,
  type UpgradeRequest,
} from '../../src/plugin.ts';
import { callHeaders } from './call-headers.ts';
import { type CreateMessage, createMessageOf, type MessageLimits } from './client-message.ts';
import { errorIn, errorMessage, refusalMessage, socketError, streamErrorMessage } from './error-message.ts';
import { bodyWith, LastResponse } from './last-response.ts';
import { eventsOf, preparedResponse } from './prepared-response.ts';

/** Larger than any event of the gateway. */
const max_event_bytes = 64 * 1024 * 1024;
/** Limit for replies that are not streamed, which are errors. */
const max_error_bytes = 1024 * 1024;

/** Bytes of a control frame of a client beside its payload. */
const control_frame_bytes = 6;

/** Time for the gateway to end the reply of a client that does not read. */
const grace_ms = 1000;

/** What ends a response. */
const finals: ReadonlySet<string | undefined> = new Set(['response.completed', 'response.incomplete']);

/** What all sessions of a gateway share, and what follows its configuration. */
export interface SessionSetup {
  readonly clock: Clock;
  readonly limits: MessageLimits & {
    readonly max_body_bytes: number;
    readonly body_timeout_ms: number;
    readonly slow_client_ms: number;
  };
  /** The format of requests and replies. */
  readonly format: GenerationFormat;
  /** Whether a session is to end when it has nothing to do. */
  isDraining(): boolean;
  /** Called when what it remembers has changed. */
  remembered(session: WebSocketSession): void;
}

/** One open WebSocket: takes a request at a time, has the gateway answer it as if it had come by POST, and sends the events of the reply. */
export class WebSocketSession {
  readonly opened_ms: number;
  readonly last: LastResponse;
  /** Replies that have begun. */
  replies = 0;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #upgrade: UpgradeRequest;
  readonly #setup: SessionSetup;
  #used_ms: number;
  #stalled_since_ms: number | undefined;
  /** The message that arrives now: bytes of it, and since when. */
  #counted_bytes: number;
  #arriving_since_ms: number | undefined;
  #call: ClientRequest | undefined;
  /** The reply that runs; set until its end has been read. */
  #running: Promise<void> | undefined;
  /** True once the end of the reply that runs was sent: the next request may come before the gateway is done with this one. */
  #isOver = false;
  #resume: (() => void) | undefined;

  constructor(ws: WebSocket, upgrade: UpgradeRequest, setup: SessionSetup) {
    this.#ws = ws;
    this.#socket = upgrade.socket as Socket;
    this.#upgrade = upgrade;
    this.#setup = setup;
    this.opened_ms = setup.clock.elapsed_ms();
    this.#used_ms = this.opened_ms;
    this.#counted_bytes = this.#socket.bytesRead;
    this.last = new LastResponse(setup.limits.max_body_bytes);
    this.#socket.on('drain', () => this.#drained());
    ws.on('message', (data: Buffer, isBinary: boolean) => this.#receive(data, isBinary));
    const control = (data: Buffer) => void (this.#counted_bytes += data.length + control_frame_bytes);
    ws.on('ping', control).on('pong', control);
    // Its close says it.
    ws.on('error', () => {});
    ws.on('close', () => {
      this.#call?.destroy();
      this.#forget();
    });
  }

  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** Bytes of a message that has not arrived whole. */
  get arriving_bytes(): number {
    return this.#socket.bytesRead - this.#counted_bytes;
  }

  /** Milliseconds since something was asked for or answered. */
  get idle_ms(): number {
    return this.isBusy ? 0 : this.#setup.clock.elapsed_ms() - this.#used_ms;
  }

  /** Closes it, unless it closes already. */
  close(code: number, reason: string): void {
    this.#ws.resume();
    this.#ws.close(code, reason);
  }

  /** Closes it between replies, because it is too old. */
  retire(): void {
    const minutes = Math.round((this.#setup.clock.elapsed_ms() - this.opened_ms) / 60_000);
    const message = `This WebSocket was open for ${minutes} minutes, which is the limit. Open another one.`;
    this.#send(refusalMessage(socketError(400, 'websocket_connection_limit_reached', message)));
    this.close(1000, 'open for too long');
  }

  /** Ends a connection that reads nothing, or sends a message too slowly. To be called now and then. */
  look(): void {
    const now_ms = this.#setup.clock.elapsed_ms();
    const { slow_client_ms, body_timeout_ms } = this.#setup.limits;
    // While a reply runs, the gateway notices first, and records it.
    const patience_ms = slow_client_ms + (this.isBusy ? grace_ms : 0);
    if (now_ms - (this.#stalled_since_ms ?? now_ms) >= patience_ms) return this.#cut();
    if (this.arriving_bytes <= 0) this.#arriving_since_ms = undefined;
    else this.#arriving_since_ms ??= now_ms;
    if (now_ms - (this.#arriving_since_ms ?? now_ms) >= body_timeout_ms)
      this.close(1008, 'a message took too long to arrive');
  }

  ping(): void {
    if (this.#stalled_since_ms === undefined) this.#ws.ping();
  }

  /** Ends it at once. A client that does not read would keep what the system has taken for it. */
  #cut(): void {
    try {
      this.#socket.resetAndDestroy();
    } catch {
      // TLS has no reset.
    }
    this.#ws.terminate();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    this.#counted_bytes = this.#socket.bytesRead;
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (isBinary) return this.close(1003, 'only text is accepted');
    if (this.#running && this.#isOver) return void this.#running.then(() => this.#take(data));
    this.#take(data);
  }

  #take(data: Buffer): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    this.#used_ms = this.#setup.clock.elapsed_ms();
    try {
      // Not parsed, however much a client sends.
      if (this.#running)
        throw socketError(409, 'response_in_progress', 'A response is in progress; wait for its end.');
      const message = createMessageOf(data, this.#setup.limits);
      if (!message) return;
      this.#isOver = false;
      this.#running = this.#answer(message).finally(() => {
        this.#running = undefined;
        this.#used_ms = this.#setup.clock.elapsed_ms();
        if (this.#setup.isDraining()) this.close(1001, 'shutting down');
      });
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  #refuse(thrown: unknown): void {
    this.#send(refusalMessage(GatewayError.from(thrown)));
  }

  async #answer({ body, generate }: CreateMessage): Promise<void> {
    try {
      const isKnown = this.last.isContinuedBy(body);
      const input = this.last.inputOf(body);
      if (!generate) return this.#prepare(body, input, isKnown);
      // What was stored is continued there, so that it is not stored again with all that was before it.
      const isContinuedThere = this.last.isStored && body.store !== false;
      const isWhole = isKnown && !isContinuedThere && input !== undefined;
      const text = isWhole ? bodyWith(body, input) : JSON.stringify(body);
      const reply = await this.#post(text);
      if (reply.statusCode === 200)
        await this.#relay(reply, isKnown || !body.previous_response_id ? input : undefined);
      else await this.#refused(reply, isKnown, body);
    } catch (thrown) {
      if (this.#ws.readyState !== this.#ws.OPEN) return;
      // JSON.parse accepts it, JSON.stringify does not.
      const isDeep = thrown instanceof RangeError;
      this.#refuse(
        isDeep ? refusal('invalid_request', { message: 'The message is nested too deeply.' }) : thrown,
      );
    }
  }

  /** Answers a request for which nothing is generated. */
  #prepare(body: Json, input: string | undefined, isKnown: boolean): void {
    if (body.previous_response_id != null && !isKnown)
      throw socketError(
        400,
        'previous_response_not_found',
        `There is no response ${body.previous_response_id}.`,
      );
    if (input === undefined) throw invalidField('input', 'is required: a string or an array of items.');
    const { request, account_id } = this.#upgrade;
    const context = { path: '/v1/responses', headers: request.headers, account_id };
    const response = preparedResponse(this.#setup.format, body, input, context, this.#setup.clock);
    this.last.remember(response, input);
    this.#setup.remembered(this);
    this.#isOver = true;
    for (const event of eventsOf(response)) this.#send(event);
  }

  async #post(body: string): Promise<IncomingMessage> {
    const { request, handler, id } = this.#upgrade;
    const headers = callHeaders(request.headers, id, ++this.replies, Buffer.byteLength(body));
    const options = { method: 'POST', path: '/v1/responses', headers };
    const call = callHandler(handler, options, request.socket.remoteAddress);
    this.#call = call;
    call.end(body);
    const [reply] = (await once(call, 'response')) as [IncomingMessage];
    call.on('error', () => {});
    return reply;
  }

  async #relay(reply: IncomingMessage, input: string | undefined): Promise<void> {
    const parser = new SseParser(max_event_bytes);
    reply.setEncoding('utf8');
    for await (const text of reply as AsyncIterable<string>) {
      for (const event of parser.feed(text)) this.#event(event, input);
      if (this.#stalled_since_ms !== undefined) await new Promise<void>(resolve => (this.#resume = resolve));
    }
  }

  #event({ event, data }: SseEvent, input: string | undefined): void {
    if (data === '[DONE]') return;
    if (event === 'error') {
      this.#isOver = true;
      this.#forget();
      return this.#send(streamErrorMessage(data));
    }
    if (finals.has(event)) {
      this.#isOver = true;
      const { response } = JSON.parse(data);
      if (input === undefined) this.last.forget();
      else this.last.remember(response, input);
      this.#setup.remembered(this);
    }
    this.#send(data);
  }

  /** Sends the error of a reply; a key that has become invalid ends the connection. */
  async #refused(reply: IncomingMessage, isKnown: boolean, { previous_response_id }: Json): Promise<void> {
    const { statusCode: status = 500, headers } = reply;
    let text = '';
    for await (const part of reply.setEncoding('utf8') as AsyncIterable<string>)
      if (text.length < max_error_bytes) text += part;
    const error = errorIn(text);
    if (previous_response_id != null && !isKnown && String(error.message).startsWith('previous_response_id'))
      error.code = 'previous_response_not_found';
    if (isKnown) this.#forget();
    this.#isOver = true;
    this.#send(errorMessage(status, error, headers));
    if (status === 401 || error.message === errorCatalogue.account_disabled.message)
      this.close(1008, 'the key is not valid any longer');
  }

  #forget(): void {
    this.last.forget();
    this.#setup.remembered(this);
  }

  /** Sends a message. A client that does not read what it is sent is not read from either. */
  #send(text: string): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    this.#ws.send(text);
    if (!this.#socket.writableNeedDrain || this.#stalled_since_ms !== undefined) return;
    this.#stalled_since_ms = this.#setup.clock.elapsed_ms();
    this.#ws.pause();
  }

  #drained(): void {
    this.#stalled_since_ms = undefined;
    this.#ws.resume();
    this.#resume?.();
  }
}
