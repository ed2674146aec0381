import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asObject, type Json } from '../common/json-object.ts';
import { http } from '../common/node-http.ts';
import { chatFormat } from './chat-format.ts';
import { completionsFormat } from './completions-format.ts';
import { errorBody, jsonBody, Refusal } from './error-body.ts';
import { countTokensReply, messagesFormat } from './messages/messages-format.ts';
import { resolveOptions, type SimulatorOptions } from './options.ts';
import { DEFAULT_MODEL, parseBody } from './read-source.ts';
import { ReplyService } from './reply-service.ts';
import {
  type ReceivedRequest,
  receivedRequest,
  SimulatedExchange,
  type SimulatorStats,
} from './simulated-exchange.ts';
import { embeddingsReply, rerankReply } from './vectors.ts';

export type { SimulatorOptions } from './options.ts';
export type { ReceivedRequest, SimulatorStats } from './simulated-exchange.ts';

/** Starts a simulated vLLM server on real sockets; rejects when an option is wrong or the port is taken. */
export async function startSimulator(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = new Simulator(resolveOptions(options));
  await simulator.listen();
  return simulator;
}

type Route = readonly [method: string, answer: (exchange: SimulatedExchange, text: string) => void];

const formatOf = ({ url = '/' }: IncomingMessage) =>
  url.startsWith('/v1/messages') ? messagesFormat : chatFormat;

const unauthorized = (request: IncomingMessage) =>
  formatOf(request) === chatFormat
    ? jsonBody({ error: 'Unauthorized' })
    : errorBody(messagesFormat.errors, 401, 'invalid x-api-key');

/** A simulated server. */
export class Simulator {
  /** Live counters. */
  readonly stats: SimulatorStats = { requests: 0, open: 0, completed: 0, refused: 0, failed: 0, aborted: 0 };
  /** The last requests, oldest first; their number is the option `recorded_requests`. */
  readonly requests: ReceivedRequest[] = [];
  readonly #created = Math.floor(Date.now() / 1_000);
  // Longer than any client's pool keeps a connection, so that the server never closes one that is reused.
  readonly #server = http.createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    void this.#receive(request, response);
  });
  /** Every path with its method and its answer. */
  readonly #routes: Readonly<Record<string, Route>> = {
    '/health': [
      'GET',
      exchange => exchange.send(200, { content_type: 'text/plain; charset=utf-8', text: '' }),
    ],
    '/version': ['GET', exchange => exchange.send(200, jsonBody({ version: '0.12.0+simulated' }))],
    '/v1/models': ['GET', exchange => exchange.send(200, jsonBody(this.#models()))],
    '/v1/chat/completions': ['POST', (exchange, text) => this.#chat.answer(exchange, text)],
    '/v1/completions': ['POST', (exchange, text) => this.#completions.answer(exchange, text)],
    '/v1/embeddings': ['POST', (exchange, text) => this.#answerWith(embeddingsReply, exchange, text)],
    '/v1/rerank': ['POST', (exchange, text) => this.#answerWith(rerankReply, exchange, text)],
    '/v1/messages': ['POST', (exchange, text) => this.#answerMessage(exchange, text)],
    '/v1/messages/count_tokens': [
      'POST',
      (exchange, text) => exchange.send(200, jsonBody(countTokensReply(text))),
    ],
  };
  #options: SimulatorOptions;
  #chat: ReplyService;
  #completions: ReplyService;
  #messages: ReplyService;

  constructor(options: SimulatorOptions) {
    this.#options = options;
    this.#chat = new ReplyService(chatFormat, options);
    this.#completions = new ReplyService(completionsFormat, options);
    this.#messages = new ReplyService(messagesFormat, options);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.#options.port;
  }

  /** Base URL for OpenAI clients, ending in /v1. */
  get url(): string {
    const { host } = this.#options;
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.port}/v1`;
  }

  /** Changes options from the next request on; host and port stay. */
  configure(options: Partial<Omit<SimulatorOptions, 'host' | 'port'>>): void {
    const { host, port } = this.#options;
    this.#options = resolveOptions({ ...options, host, port }, this.#options);
    this.#chat = new ReplyService(chatFormat, this.#options);
    this.#completions = new ReplyService(completionsFormat, this.#options);
    this.#messages = new ReplyService(messagesFormat, this.#options);
  }

  async listen(): Promise<void> {
    const { host, port } = this.#options;
    // Thousands of clients of a load test may connect in one moment.
    await once(this.#server.listen({ host, port, backlog: 4_096 }), 'listening');
  }

  /** Closes the port and every connection. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise(resolve => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = new SimulatedExchange(request, response, this.stats);
    response.setHeader('server', 'uvicorn');
    try {
      const text = Buffer.concat(await request.toArray()).toString();
      this.#record(request, text);
      this.#route(exchange, text);
    } catch (error) {
      if (request.readableAborted) return;
      const { status, message, param } = error instanceof Refusal ? error : new Refusal(500, String(error));
      exchange.refuse(status, errorBody(formatOf(request).errors, status, message, param));
    }
  }

  #answerMessage(exchange: SimulatedExchange, text: string): void {
    if (!exchange.request.headers['anthropic-version'])
      throw new Refusal(400, 'anthropic-version: header is required');
    this.#messages.answer(exchange, text);
  }

  #answerWith(
    replyTo: (body: Json, model: string) => object,
    exchange: SimulatedExchange,
    text: string,
  ): void {
    const body = asObject(parseBody(text));
    const { models } = this.#options;
    const { model = models[0] ?? DEFAULT_MODEL } = body;
    if (models.length > 0 && !models.includes(String(model)))
      throw new Refusal(404, `The model \`${model}\` does not exist.`, 'model');
    exchange.send(200, jsonBody(replyTo(body, String(model))));
  }

  #record(request: IncomingMessage, text: string): void {
    this.requests.push(receivedRequest(request, text));
    if (this.requests.length > this.#options.recorded_requests) this.requests.shift();
  }

  #route(exchange: SimulatedExchange, text: string): void {
    const { method, url = '/' } = exchange.request;
    const path = url.split('?', 1)[0] ?? '/';
    const route = this.#routes[path];
    if (path.startsWith('/v1') && !this.#admits(exchange.request))
      exchange.refuse(401, unauthorized(exchange.request));
    else if (!route) exchange.refuse(404, jsonBody({ detail: 'Not Found' }));
    else if (method !== route[0])
      exchange.refuse(405, jsonBody({ detail: 'Method Not Allowed' }), { allow: route[0] });
    else route[1](exchange, text);
  }

  #admits(request: IncomingMessage): boolean {
    const { api_key } = this.#options;
    const { authorization, 'x-api-key': key } = request.headers;
    return api_key === null || authorization === `Bearer ${api_key}` || key === api_key;
  }

  #models(): object {
    const { models, max_model_len } = this.#options;
    const data = (models.length > 0 ? models : [DEFAULT_MODEL]).map(id => ({
      id,
      object: 'model',
      created: this.#created,
      owned_by: 'vllm',
      root: id,
      parent: null,
      max_model_len,
      permission: [],
    }));
    return { object: 'list', data };
  }
}
