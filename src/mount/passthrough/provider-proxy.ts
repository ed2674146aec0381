import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'http-proxy-middleware';
import { http } from '../../common/node-http.ts';
import type { ProviderConfig } from '../../common/options.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { sendContinue } from '../../gateway/inbound/expect-continue.ts';
import type { CertificateExpiry } from '../../gateway/upstream/http/certificate-expiry.ts';
import { switchedProtocols } from '../../gateway/upstream/http/upstream-call.ts';
import { type ConnectionUse, isStale } from '../../gateway/upstream/http/upstream-connection.ts';
import { type OnBody, SentBody, withoutFirst } from './sent-body.ts';
import { limitUpload, type UploadLimits } from './upload-limits.ts';

/** Milliseconds that an idle connection is kept; servers such as uvicorn close theirs after 5 s. */
const keep_alive_ms = 4000;

/** How a request is sent on. */
interface Forwarding extends Pick<IncomingMessage, 'headers'> {
  readonly url: string;
  readonly limits: UploadLimits;
  readonly onBody?: OnBody | undefined;
  /** On a connection of its own, because the first one was stale. */
  readonly isResent?: boolean;
}

/** One request that http-proxy-middleware forwards. */
interface Transfer {
  readonly exchange: Exchange;
  readonly limits: UploadLimits;
  readonly onBody: OnBody | undefined;
  readonly replied: PromiseWithResolvers<IncomingMessage>;
  /** What httpxy does when the client's connection closes: it destroys the call. */
  readonly onClose: (() => void)[];
  outgoing?: ClientRequest;
  reply?: IncomingMessage;
  /** Of a connection that has carried another request before. */
  use?: ConnectionUse & { readonly body: SentBody };
}

/** What is needed of a provider. */
interface ProxiedProvider {
  readonly config: Pick<ProviderConfig, 'base_url' | 'idle_timeout_ms'>;
  readonly certificates: CertificateExpiry;
}

/** http-proxy-middleware in front of one provider: pipes a client's request there, and leaves the reply to its caller. */
export class ProviderProxy {
  readonly #idle_timeout_ms: number;
  readonly #agents: readonly Agent[];
  /** Loaded for gateways that have such paths, while they start. */
  readonly #proxy: Promise<RequestHandler>;
  /** Every request of it has a connection of its own. */
  readonly #unkept: Promise<RequestHandler>;
  readonly #transfers = new WeakMap<IncomingMessage, Transfer>();

  constructor({ config, certificates }: ProxiedProvider) {
    const { base_url, idle_timeout_ms } = config;
    this.#idle_timeout_ms = idle_timeout_ms;
    // Every request may hold a connection, so a cap here would be a cap on requests.
    const [kept, unkept] = [true, false].map(keepAlive => {
      const options = { keepAlive, timeout: keep_alive_ms };
      return base_url.startsWith('https:') ? certificates.agent(options) : new http.Agent(options);
    }) as [Agent, Agent];
    this.#agents = [kept, unkept];
    this.#proxy = this.#createProxy(base_url, kept);
    this.#unkept = this.#createProxy(base_url, unkept);
  }

  async #createProxy(base_url: string, agent: Agent): Promise<RequestHandler> {
    const { createProxyMiddleware } = await import('http-proxy-middleware');
    return createProxyMiddleware({
      target: new URL(base_url),
      agent,
      changeOrigin: true,
      // The default plugins write errors of their own into replies that have begun.
      ejectPlugins: true,
      selfHandleResponse: true,
      plugins: [
        server => {
          server.on('proxyReq', (outgoing, request) => this.#onSending(request, outgoing));
          server.on('start', (request, response) => this.#onListening(request, response));
          server.on('proxyRes', (reply, request, response) => {
            this.#onListening(request, response);
            this.#onReply(request, reply);
          });
          server.on('error', (error, request) => this.#onError(request, error));
          server.on('econnreset', (error, request) => this.#onError(request, error));
        },
      ],
    });
  }

  /** Pipes `request` to the provider under another URL and with other headers. Resolves with the reply once it begins. */
  async forward(
    exchange: Exchange,
    request: IncomingMessage,
    response: ServerResponse,
    { url, headers, limits, onBody: given, isResent = false }: Forwarding,
  ): Promise<IncomingMessage> {
    const proxy = await (isResent ? this.#unkept : this.#proxy);
    const replied = Promise.withResolvers<IncomingMessage>();
    const before_bytes = this.#transfers.get(request)?.use?.body.putBack() ?? 0;
    const onBody = given && withoutFirst(before_bytes, given);
    this.#transfers.set(request, { exchange, limits, onBody, replied, onClose: [] });
    // The application around the gateway must find the request unchanged.
    const own = { url: request.url, headers: request.headers };
    Object.assign(request, { url, headers });
    const fault = (error: unknown) =>
      replied.reject(error ?? new Error('http-proxy-middleware did not pass the request on'));
    void proxy(request, response, fault);
    try {
      const reply = await replied.promise;
      // httpxy would destroy the client's response when the reply breaks off, before an error could be sent.
      return reply.removeAllListeners('close').removeAllListeners('error');
    } finally {
      Object.assign(request, own);
    }
  }

  /** Lets a reply that has begun run on when its client leaves; an abort of the exchange still ends it. */
  readOn(request: IncomingMessage, response: ServerResponse): void {
    for (const listener of this.#transfers.get(request)?.onClose ?? []) response.off('close', listener);
  }

  /**
   * Whether `error` says that a kept connection was closed by its server, which has sent nothing of a reply, and what was sent can be sent
   * again.
   */
  canSendAgain(request: IncomingMessage, error: unknown): boolean {
    const { use } = this.#transfers.get(request) ?? {};
    return use?.body.isWhole === true && error instanceof Error && isStale(use, error);
  }

  /** Closes the upstream's connection, unless both the request and its reply are complete: then it is kept for the next request. */
  end(request: IncomingMessage): void {
    const { outgoing, reply, onBody } = this.#transfers.get(request) ?? {};
    if (onBody) request.off('data', onBody);
    if (!outgoing || (reply?.complete && outgoing.writableFinished)) return;
    request.unpipe(outgoing);
    outgoing.destroy();
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  /** Called when httpxy is about to add its listeners to the response, which are recognized by that. */
  #onListening(request: IncomingMessage, response: ServerResponse): void {
    const before = response.listeners('close');
    queueMicrotask(() => {
      const added = response.listeners('close').filter(listener => !before.includes(listener));
      this.#transfers.get(request)?.onClose.push(...(added as (() => void)[]));
    });
  }

  /** Called when there is a connection and the body is about to be piped. */
  #onSending(request: IncomingMessage, outgoing: ClientRequest): void {
    const transfer = this.#transfers.get(request)!;
    const { exchange, limits, onBody } = transfer;
    transfer.outgoing = outgoing;
    const fail = (error: Error) => {
      request.unpipe(outgoing);
      transfer.replied.reject(error);
      transfer.reply?.destroy(error);
      outgoing.destroy(error);
    };
    const abort = () => fail(new Error('the exchange was aborted'));
    // Without this listener Node would close the connection silently.
    outgoing.once('upgrade', (_, socket) => {
      socket.destroy();
      fail(switchedProtocols());
    });
    outgoing.socket?.setTimeout(this.#idle_timeout_ms);
    outgoing.on('timeout', () =>
      fail(refusal('provider_timeout', { cause: new Error('the limit: idle_timeout_ms') })),
    );
    outgoing.on('close', () => exchange.offAbort(abort));
    sendContinue(request);
    // Not earlier: a listener makes the body flow, so that later listeners miss its beginning.
    if (onBody) request.on('data', onBody);
    const { socket, reusedSocket } = outgoing;
    if (socket && reusedSocket)
      transfer.use = { socket, read_bytes: socket.bytesRead, body: new SentBody(request) };
    limitUpload(request, outgoing, exchange.clock, limits, fail);
    exchange.onAbort(abort);
  }

  #onReply(request: IncomingMessage, reply: IncomingMessage): void {
    const transfer = this.#transfers.get(request)!;
    transfer.reply = reply;
    transfer.use?.body.close();
    if (reply.statusCode !== 101) return transfer.replied.resolve(reply);
    // Without the headers of an upgrade it comes as a reply.
    transfer.replied.reject(switchedProtocols());
    transfer.outgoing?.destroy();
  }

  #onError(request: IncomingMessage | undefined, error: Error): void {
    if (request) this.#transfers.get(request)?.replied.reject(error);
  }
}
