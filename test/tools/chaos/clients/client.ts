import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { RawConnection } from '../../../support/raw-client.ts';
import type { Reply } from './checks.ts';
import type { Request } from './request.ts';

/** No reply takes longer; a request that does is stuck. */
const patience_ms = 60_000;
/** Ends a fault of a connection that had served other requests before. */
export const kept_connection = 'on a connection that was kept';
/** How much of a request an unfinished upload, or one in single bytes, holds back. */
const tail_bytes = 300;

/** Sends requests, on connections that are kept and on such that are not. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true });
  /** Aborts requests that otherwise end only when the gateway ends them. */
  readonly #over: AbortSignal;

  constructor(over: AbortSignal) {
    this.#over = over;
  }

  /** Resolves with the reply, which also says what went wrong. `recorded` resolves once the gateway has logged the exchange. */
  send(request: Request, id: string, base: string, recorded: Promise<void>): Promise<Reply> {
    const { method, stall, send_bytes, drip_ms, unfinished } = request;
    const isRaw = method === '' || stall || unfinished || send_bytes !== undefined || drip_ms !== undefined;
    return isRaw ? this.#sendBytes(request, id, base, recorded) : this.#sendRequest(request, id, base);
  }

  close(): void {
    this.#agent.destroy();
  }

  #sendRequest(request: Request, id: string, base: string): Promise<Reply> {
    const { method, path, body, leave_ms, pause_ms, leave_at_done } = request;
    const { leave_events = Number.POSITIVE_INFINITY, leave_characters = Number.POSITIVE_INFINITY } = request;
    const length = body.length > 0 && { 'content-length': Buffer.byteLength(body) };
    const headers = { ...request.headers, ...length, 'x-request-id': id };
    let [events, text, hasLeft] = [0, '', false];
    let response: IncomingMessage | undefined;
    let fault: string | undefined;
    return new Promise(resolve => {
      const sent = httpRequest(base + path, { method, headers, agent: this.#agent });
      const fail = ({ message }: Error) => {
        fault ??= sent.reusedSocket ? `${message} ${kept_connection}` : message;
      };
      const late = setTimeout(
        () => sent.destroy(new Error(`no end after ${patience_ms / 1000} s`)),
        patience_ms,
      );
      const leave = () => {
        hasLeft = true;
        sent.destroy();
      };
      const read = (part: string) => {
        text += part;
        events += part.split('\n\n').length - 1;
        const hasEnough = events >= leave_events || text.length >= leave_characters;
        if (hasEnough || (leave_at_done && part.includes('[DONE]'))) leave();
        if (pause_ms === undefined) return;
        response?.pause();
        setTimeout(() => response?.resume(), pause_ms);
      };
      sent.on('error', fail).on('response', received => {
        response = received.setEncoding('utf8').on('error', fail).on('data', read);
      });
      sent.on('finish', () => leave_ms !== undefined && setTimeout(leave, leave_ms));
      sent.on('close', () => {
        clearTimeout(late);
        const { complete = false, statusCode: status = 0 } = response ?? {};
        const wrong = complete || hasLeft ? undefined : (fault ?? 'the connection was cut');
        resolve({ status, text, complete, fault: wrong });
      });
      sent.end(body);
    });
  }

  /** Sends bytes as the request says, and reads until the gateway closes, or has logged the exchange, or the run is over. */
  async #sendBytes(request: Request, id: string, base: string, recorded: Promise<void>): Promise<Reply> {
    const { stall, send_bytes, drip_ms, unfinished } = request;
    const bytes = bytesOf(request, id);
    const connection = new RawConnection(base);
    const { socket, closed } = connection;
    const leave = () => void socket.destroy();
    const over = new AbortController();
    const late = after(patience_ms, `not disconnected after ${patience_ms / 1000} s`, over);
    // Not reading is ended by the gateway alone.
    if (stall) void recorded.then(leave);
    else this.#over.addEventListener('abort', leave);
    if (stall) socket.pause();
    const isHeldBack = drip_ms !== undefined || unfinished;
    socket.write(bytes.subarray(0, isHeldBack ? -tail_bytes : send_bytes), () => {
      if (send_bytes !== undefined) leave();
    });
    if (drip_ms !== undefined) drip(connection, bytes.subarray(-tail_bytes), drip_ms);
    const fault = await Promise.race([closed.then(() => undefined), late]);
    over.abort();
    leave();
    this.#over.removeEventListener('abort', leave);
    const text = connection.text.slice(0, 10_000);
    const status = Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0);
    return { status, text, complete: false, fault };
  }
}

/** One byte after the other, until the connection is closed. */
function drip({ socket, closed }: RawConnection, bytes: Buffer, drip_ms: number): void {
  let at = 0;
  const timer = setInterval(() => at < bytes.length && socket.write(bytes.subarray(at, ++at)), drip_ms);
  void closed.then(() => clearInterval(timer));
}

/** A request as bytes; the body alone where there is no method. */
function bytesOf({ method, path, headers, body }: Request, id: string): Buffer {
  if (method === '') return Buffer.from(body);
  const all = { host: 'sluice', 'content-length': Buffer.byteLength(body), ...headers, 'x-request-id': id };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}
