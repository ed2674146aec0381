import type { IncomingMessage } from 'node:http';
import { callHandler, type RequestHandler } from '../../src/plugin.ts';
import { PageError } from './page-response.ts';

/** Calls that may run at the same time, in total and of one caller. */
const max_running = 64;
const max_running_of_caller = 8;

/** A client's request for a chat completion. */
interface GatewayCall {
  /** JSON, sent unchanged. */
  readonly body: string;
  /** API key; if empty, no header is sent. */
  readonly key: string;
  /** Whose call it is: the person, or the account of customers. */
  readonly caller: string;
  /** Aborts the call, as a client does that leaves. */
  readonly signal: AbortSignal;
}

/** Calls the gateway as any client does, with the same authentication, limits, settlement and records. */
export class GatewayCalls {
  readonly #gateway: RequestHandler;
  #running = 0;
  readonly #byCaller = new Map<string, number>();

  constructor(gateway: RequestHandler) {
    this.#gateway = gateway;
  }

  /**
   * Resolves with the reply once its headers are there; the call counts as running until the reply ends. Rejects with a PageError if too
   * many are running, or when `signal` aborts.
   */
  async chat({ body, key, caller, signal }: GatewayCall): Promise<IncomingMessage> {
    const own = this.#byCaller.get(caller) ?? 0;
    if (own >= max_running_of_caller)
      throw new PageError(429, `${own} answers are being streamed to you already.`, 'Wait for one.');
    if (this.#running >= max_running)
      throw new PageError(429, `${max_running} answers are being streamed already.`, 'Wait for one.');
    return new Promise((resolve, reject) => {
      const call = callHandler(this.#gateway, {
        method: 'POST',
        path: '/v1/chat/completions',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'sluice-playground',
          ...(key !== '' && { authorization: `Bearer ${key}` }),
        },
        signal,
      });
      this.#count(caller, 1);
      call.once('close', () => this.#count(caller, -1));
      call.on('response', resolve).on('error', reject);
      call.end(body);
    });
  }

  #count(caller: string, change: 1 | -1): void {
    this.#running += change;
    const own = (this.#byCaller.get(caller) ?? 0) + change;
    if (own > 0) this.#byCaller.set(caller, own);
    else this.#byCaller.delete(caller);
  }
}
