import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Body } from './error-body.ts';

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
export type ReceivedRequest = ReturnType<typeof receivedRequest>;

export const receivedRequest = (
  { method = 'GET', url: path = '/', headers }: IncomingMessage,
  text: string,
) => ({
  method,
  path,
  headers,
  text,
  /** The body as JSON; undefined if it is not JSON. */
  get body(): unknown {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  },
});

type Headers = Readonly<Record<string, string>>;

const broken = new WeakSet<ServerResponse>();

/** Whether the simulator broke the connection on purpose. */
export const wasBrokenOff = (response: ServerResponse): boolean => broken.has(response);

/** One request from its arrival to its end, counted in the statistics exactly once. */
export class SimulatedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Outcome for the statistics unless the client leaves first. */
  outcome: 'completed' | 'refused' | 'failed' = 'completed';

  constructor(request: IncomingMessage, response: ServerResponse, stats: SimulatorStats) {
    this.request = request;
    this.response = response;
    stats.requests += 1;
    stats.open += 1;
    response.on('close', () => {
      stats.open -= 1;
      stats[response.writableFinished || wasBrokenOff(response) ? this.outcome : 'aborted'] += 1;
    });
  }

  /** Calls `act` in `delay_ms`, unless the exchange has ended by then. */
  after(delay_ms: number, act: () => void): void {
    if (this.response.destroyed) return;
    if (delay_ms === 0) return act();
    const timer = setTimeout(act, Math.ceil(delay_ms));
    this.response.once('close', () => clearTimeout(timer));
  }

  /** Sends a whole reply; breaks the connection when another one has begun. */
  send(status: number, body: Body, headers: Headers = {}): void {
    if (this.response.headersSent || this.response.destroyed) {
      this.response.destroy();
      return;
    }
    this.#head(status, body, headers).end(body.text);
  }

  /** Sends an error caused by the request itself. */
  refuse(status: number, body: Body, headers: Headers = {}): void {
    this.outcome = 'refused';
    this.send(status, body, headers);
  }

  /** Sends the headers of a plain completion, but nothing of its text. */
  begin(text: string): void {
    this.#head(200, { content_type: 'application/json', text }).flushHeaders();
  }

  #head(status: number, { content_type, text }: Body, headers: Headers = {}): ServerResponse {
    const length = String(Buffer.byteLength(text));
    return this.response.writeHead(status, {
      'content-type': content_type,
      'content-length': length,
      ...headers,
    });
  }

  /** Sends `block`, then breaks the connection: by a TCP reset, or by closing it in the middle of the body. */
  breakOff(how: 'reset' | 'cut', block = ''): void {
    const { response } = this;
    const { socket } = response;
    broken.add(response);
    const act = (): void => {
      if (how === 'reset') socket?.resetAndDestroy();
      else socket?.destroy();
    };
    if (block !== '') {
      response.write(block, act);
    } else if (response.headersSent) {
      response.flushHeaders();
      // The headers leave before the next turn of the event loop.
      setImmediate(act);
    } else {
      act();
    }
  }
}
