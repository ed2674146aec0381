import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Errand, Manner, Reply, Request } from './errand.ts';

/** No reply takes longer; a request that does is stuck. */
const patience_ms = 60_000;
const nothing: Reply = { status: 0, text: '', complete: false, fault: undefined };
/** How much of a request an unfinished upload or one in drops leaves out. */
const tail_bytes = 300;

/** Does errands, on connections that are kept and on such that are not. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true });
  /** Aborts requests that otherwise end only when the gateway ends them. */
  readonly #over: AbortSignal;

  constructor(over: AbortSignal) {
    this.#over = over;
  }

  /** Does one errand to its end, which the gateway tells by `recorded`. Never rejects: what went wrong is in the reply. */
  do({ request, manner = {} }: Errand, id: string, base: string, recorded: Promise<void>): Promise<Reply> {
    const { stall, send_bytes, drip_ms, unfinished } = manner;
    const isRaw = stall || send_bytes !== undefined || drip_ms !== undefined || unfinished;
    if (isRaw || request.method === '') return this.#raw(bytesOf(request, id), manner, base, recorded);
    return new Promise(resolve => {
      const { hostname: host, port } = new URL(base);
      const { method, path, headers, body } = request;
      const length = body.length > 0 ? { 'content-length': Buffer.byteLength(body) } : {};
      const all = { ...headers, ...length, 'x-request-id': id };
      const sent = httpRequest({ host, port, method, path, headers: all, agent: this.#agent });
      new Reading(sent, manner, resolve);
      sent.end(body);
    });
  }

  /** Ends all connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Sends bytes as `manner` says, and reads until the gateway closes, or has recorded the exchange, or the run is over. */
  #raw(bytes: Buffer, manner: Manner, base: string, recorded: Promise<void>): Promise<Reply> {
    const { stall, send_bytes, drip_ms, unfinished } = manner;
    const socket = connect({ host: new URL(base).hostname, port: Number(new URL(base).port) });
    let text = '';
    let isLate = false;
    if (stall) socket.pause();
    else socket.setEncoding('latin1').on('data', (part: string) => (text = (text + part).slice(0, 10_000)));
    const leave = () => void socket.destroy();
    const late = setTimeout(() => {
      isLate = true;
      leave();
    }, patience_ms);
    // Not reading is ended by the gateway alone.
    if (stall) void recorded.then(leave);
    else this.#over.addEventListener('abort', leave);
    const isPart = drip_ms !== undefined || unfinished;
    socket.write(bytes.subarray(0, isPart ? -tail_bytes : send_bytes), () => {
      if (send_bytes !== undefined) leave();
    });
    if (drip_ms !== undefined) drip(socket, bytes.subarray(-tail_bytes), drip_ms);
    return new Promise(resolve => {
      socket
        .on('error', () => {})
        .on('close', () => {
          clearTimeout(late);
          this.#over.removeEventListener('abort', leave);
          const status = Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0);
          const fault = isLate ? `not cut after ${patience_ms / 1000} s` : undefined;
          resolve({ ...nothing, status, text, fault });
        });
    });
  }
}

/** One byte after the other, until the connection is closed. */
function drip(socket: Socket, bytes: Buffer, drip_ms: number): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < bytes.length) socket.write(bytes.subarray(at, ++at));
  }, drip_ms);
  socket.once('close', () => clearInterval(timer));
}

/** One reply as it is read. */
class Reading {
  readonly #request: ClientRequest;
  readonly #manner: Manner;
  readonly #resolve: (reply: Reply) => void;
  readonly #patience: NodeJS.Timeout;
  #response: IncomingMessage | undefined;
  #text = '';
  #events = 0;
  #left = false;
  #fault: string | undefined;

  constructor(request: ClientRequest, manner: Manner, resolve: (reply: Reply) => void) {
    this.#request = request;
    this.#manner = manner;
    this.#resolve = resolve;
    this.#patience = setTimeout(() => this.#giveUp(), patience_ms);
    request.on('response', response => this.#begin(response));
    request.on('error', error => (this.#fault ??= error.message));
    request.on('close', () => this.#end());
    const { leave_ms } = manner;
    if (leave_ms !== undefined) request.on('finish', () => setTimeout(() => this.#leave(), leave_ms));
  }

  #begin(response: IncomingMessage): void {
    this.#response = response;
    response.on('error', error => (this.#fault ??= error.message));
    response.setEncoding('utf8').on('data', (text: string) => this.#take(response, text));
  }

  #take(response: IncomingMessage, text: string): void {
    this.#text += text;
    const { leave_events = Number.POSITIVE_INFINITY, leave_characters = Number.POSITIVE_INFINITY } =
      this.#manner;
    const { leave_at_done, pause_ms } = this.#manner;
    for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n', at + 2)) this.#events++;
    if (this.#events >= leave_events || this.#text.length >= leave_characters) this.#leave();
    if (leave_at_done && text.includes('[DONE]')) this.#leave();
    if (pause_ms === undefined) return;
    response.pause();
    setTimeout(() => response.resume(), pause_ms);
  }

  #leave(): void {
    this.#left = true;
    this.#request.destroy();
  }

  #giveUp(): void {
    this.#fault = `no end after ${patience_ms / 1000} s`;
    this.#request.destroy();
  }

  #end(): void {
    clearTimeout(this.#patience);
    const complete = this.#response?.complete ?? false;
    const broken = complete || this.#left ? undefined : (this.#fault ?? 'it was cut');
    const status = this.#response?.statusCode ?? 0;
    this.#resolve({ status, text: this.#text, complete, fault: broken });
  }
}

/** A request as bytes; the body alone where there is no method. */
function bytesOf({ method, path, headers, body }: Request, id: string): Buffer {
  if (method === '') return Buffer.from(body);
  const all = { host: 'sluice', 'content-length': Buffer.byteLength(body), ...headers, 'x-request-id': id };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`),
    Buffer.from(body),
  ]);
}
