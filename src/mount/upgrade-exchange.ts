import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http } from '../common/node-http.ts';
import { type GatewayError, refusal } from '../gateway/exchange/errors.ts';
import type { Exchange } from '../gateway/exchange/exchange.ts';
import type { Outcome } from '../gateway/exchange/exchange-view.ts';
import type { RequestHandler } from '../gateway/exchange/stage-plan.ts';
import { settle } from '../gateway/settlement/settle.ts';
import type { OpenExtension } from '../records/define-extension.ts';
import type { Parts } from './assemble.ts';
import { GatewayExchange } from './gateway-exchange.ts';

/** What a request needs to switch protocols. */
interface Switching {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly handler: RequestHandler;
  readonly upgrade: NonNullable<OpenExtension['upgrade']>;
}

/**
 * A request to switch protocols, which an extension does once the stages have seen the headers. It ends with the reply 101, and has no row in
 * the ledger: what then comes over the connection is exchanges of its own.
 */
export class UpgradeExchange extends GatewayExchange {
  readonly #reports: Parts['reports'];
  readonly #switching: Switching;

  constructor(
    parts: Parts,
    exchange: Exchange,
    refused: GatewayError | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    switching: Switching,
  ) {
    super(parts, exchange, undefined, refused, request, response, undefined);
    this.#reports = { ...parts.reports, ledger: undefined };
    this.#switching = switching;
  }

  override async pass(): Promise<void> {
    const { exchange, request, response } = this;
    const { socket, head, handler, upgrade } = this.#switching;
    const { id, account, end } = exchange;
    const headers = { 'x-request-id': id, ...exchange.replyHeaders };
    response.detachSocket(socket as Socket);
    try {
      await upgrade({ request, socket, head, id, account_id: account?.id, headers, handler });
    } catch (thrown) {
      // For the error.
      response.assignSocket(socket as Socket);
      throw thrown;
    }
    end.replied(101);
    end.replyEnded();
  }

  override settle(): Outcome {
    return settle(this.exchange, this.#reports);
  }
}

/** Whether a request asks to switch to WebSocket. */
export const isWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/** A response on a connection that its server has given up. It closes the connection. */
export function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new http.ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  socket.on('error', () => socket.destroy());
  response.once('finish', () => (socket as Socket).destroySoon());
  return response;
}

/** Why the body of a request cannot be read: its server has given the connection up before. Undefined if it has none. */
export function bodyFault({ headers }: IncomingMessage): GatewayError | undefined {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  const message = `A request with a body cannot ask for another protocol here; send it without the header Upgrade.`;
  return hasBody ? refusal('invalid_request', { message }) : undefined;
}
