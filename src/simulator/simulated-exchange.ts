import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { wasBrokenOff } from './break-off.ts';

/** Every request is `open` and then exactly one of the four outcomes. */
export interface SimulatorStats {
  /** All requests that arrived. */
  requests: number;
  /** Requests in flight. */
  open: number;
  /** Answered as a healthy server would. */
  completed: number;
  /** Answered 4xx because of the request itself. */
  refused: number;
  /** Failed on purpose, by a directive or the fail rate. */
  failed: number;
  /** The client left before the end. */
  aborted: number;
}

/** A request as it arrived. */
export class ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  #body: { readonly parsed: unknown } | undefined;

  constructor(request: IncomingMessage, text: string) {
    this.method = request.method ?? 'GET';
    this.path = request.url ?? '/';
    this.headers = request.headers;
    this.text = text;
  }

  /** The body as JSON, parsed on first use; undefined if it is not JSON. */
  get body(): unknown {
    this.#body ??= { parsed: parseJson(this.text) };
    return this.#body.parsed;
  }
}

/** One request from its arrival to its end, counted in the statistics exactly once. */
export class SimulatedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Outcome for the statistics unless the client leaves first. */
  outcome: 'completed' | 'refused' | 'failed' = 'completed';
  #leave: (() => void) | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, stats: SimulatorStats) {
    this.request = request;
    this.response = response;
    stats.requests += 1;
    stats.open += 1;
    response.on('close', () => {
      stats.open -= 1;
      stats[response.writableFinished || wasBrokenOff(response) ? this.outcome : 'aborted'] += 1;
      this.#leave?.();
    });
  }

  /** Calls `leave` when the exchange is over, however it ends; the last one set counts. */
  onLeave(leave: () => void): void {
    this.#leave = leave;
  }

  /** Sends a whole reply; breaks the connection when another one has begun. */
  send(
    status: number,
    content_type: string,
    text: string,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    if (this.response.headersSent || this.response.destroyed) {
      this.response.destroy();
      return;
    }
    const length = { 'content-length': String(Buffer.byteLength(text)) };
    this.response.writeHead(status, { 'content-type': content_type, ...length, ...headers }).end(text);
  }

  /** Sends an error caused by the request itself. */
  refuse(status: number, body: string | object, headers: Readonly<Record<string, string>> = {}): void {
    this.outcome = 'refused';
    this.send(status, 'application/json', typeof body === 'string' ? body : JSON.stringify(body), headers);
  }
}

/** The whole body as text; rejects when the client leaves before its end. */
export async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return (parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
