import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import type { Errand, Manner, Reply, Request } from './soak-errand.ts';

/** Nothing takes longer; what does is stuck. */
const patience_ms = 60_000;
const nothing: Reply = { status: 0, text: '', complete: false, fault: undefined };

/** Does errands at one gateway, on connections that are kept and on such that are not. */
export class Client {
  readonly #base: URL;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(url: string) {
    this.#base = new URL(url);
  }

  /** Does one errand to its end, which the gateway tells by `recorded`. Never rejects: what went wrong is in the reply. */
  do({ request, manner = {} }: Errand, id: string, recorded: Promise<void>): Promise<Reply> {
    const { stall, send_bytes } = manner;
    if (stall) return this.#stall(bytesOf(request, id), recorded);
    if (send_bytes !== undefined) return this.#send(bytesOf(request, id).subarray(0, send_bytes));
    return this.#ordinary(request, manner, id);
  }

  /** Ends all connections. */
  close(): void {
    this.#agent.destroy();
  }

  #ordinary({ method, path, headers, body }: Request, manner: Manner, id: string): Promise<Reply> {
    return new Promise(resolve => {
      const { hostname: host, port } = this.#base;
      const length = body.length > 0 ? { 'content-length': Buffer.byteLength(body) } : {};
      const all = { ...headers, ...length, 'x-request-id': id };
      const request = httpRequest({ host, port, method, path, headers: all, agent: this.#agent });
      new Reading(request, manner, resolve);
      request.end(body);
    });
  }

  /** Sends no more than these bytes and leaves. */
  #send(bytes: Buffer): Promise<Reply> {
    const socket = this.#connect();
    socket.write(bytes, () => socket.destroy());
    return new Promise(resolve => socket.on('close', () => resolve(nothing)));
  }

  /** Asks, and reads nothing until the gateway has given up. */
  async #stall(bytes: Buffer, recorded: Promise<void>): Promise<Reply> {
    const socket = this.#connect();
    socket.write(bytes);
    const over = new AbortController();
    const late = after(patience_ms, { ...nothing, fault: `not cut after ${patience_ms / 1000} s` }, over);
    const reply = await Promise.race([recorded.then(() => nothing), late]);
    over.abort();
    late.catch(() => {});
    socket.destroy();
    return reply;
  }

  #connect(): Socket {
    const socket = connect({ host: this.#base.hostname, port: Number(this.#base.port) });
    return socket.pause().on('error', () => {});
  }
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
    const { leave_events = Number.POSITIVE_INFINITY, leave_at_done, pause_ms } = this.#manner;
    for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n', at + 2)) this.#events++;
    if (this.#events >= leave_events || (leave_at_done && text.includes('[DONE]'))) this.#leave();
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

function bytesOf({ method, path, headers, body }: Request, id: string): Buffer {
  const all = { host: 'sluice', ...headers, 'x-request-id': id, 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`),
    Buffer.from(body),
  ]);
}
