import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type ClientOptions, WebSocket } from 'ws';
import { clientKey } from './gateway-under-test.ts';
import { until } from './until.ts';

/** An event of a Responses reply, or an error. */
export interface SocketEvent {
  readonly type: string;
  readonly status?: number;
  readonly response?: { readonly id: string; readonly status: string; readonly output: readonly object[] };
  readonly error?: { readonly type: string; readonly code: string | null; readonly message: string };
  readonly headers?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** A client of the Responses API over WebSocket. */
export class SocketClient {
  readonly ws: WebSocket;
  readonly events: SocketEvent[] = [];
  /** Headers of the reply 101. */
  headers: IncomingMessage['headers'] = {};
  /** Code of the close, once it is closed. */
  code: number | undefined;

  private constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on('message', data => this.events.push(JSON.parse(String(data))));
    ws.on('upgrade', reply => void (this.headers = reply.headers));
    ws.on('close', code => void (this.code = code));
    ws.on('error', () => {});
  }

  /** Opens one at the gateway with this URL; rejects with the reply if it is refused. */
  static async open(url: string, { headers, ...options }: ClientOptions = {}): Promise<SocketClient> {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${clientKey}`, ...headers },
      ...options,
    });
    const client = new SocketClient(ws);
    const refused = once(ws, 'unexpected-response').then(([, reply]) => Promise.reject(reply));
    refused.catch(() => {});
    await Promise.race([once(ws, 'open'), refused]);
    return client;
  }

  send(message: object | string): void {
    this.ws.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  create(fields: object): void {
    this.send({ type: 'response.create', model: 'aion-labs/aion-3.5', store: false, ...fields });
  }

  /** The events of the reply to a request, up to its end. */
  async ask(fields: object): Promise<readonly SocketEvent[]> {
    const from = this.events.length;
    this.create(fields);
    await this.seen(isEnd, from);
    return this.events.slice(from);
  }

  /** Resolves with the first event from `from` on that is meant. */
  async seen(isMeant: (event: SocketEvent) => boolean, from = 0): Promise<SocketEvent> {
    const find = () => this.events.slice(from).find(isMeant);
    await until(() => find() !== undefined);
    return find()!;
  }

  /** Resolves with the code of the close. */
  async closed(): Promise<number> {
    await until(() => this.code !== undefined);
    return this.code!;
  }
}

const isEnd = ({ type }: SocketEvent): boolean =>
  ['response.completed', 'response.incomplete', 'response.failed', 'error'].includes(type);

/** The text of a response. */
export const textOf = (events: readonly SocketEvent[]): string =>
  events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
