/** The rungs below the runner: the spike with the gateway's way in, its formats and its way out. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Parts } from '../../../../src/assemble.ts';
import { chatRequest } from '../../../../src/dialects/chat-completions/chat-request.ts';
import type { GenerationFormat } from '../../../../src/dialects/define-dialect.ts';
import { GatewayError } from '../../../../src/errors.ts';
import type { Exchange } from '../../../../src/exchange.ts';
import { readBody } from '../../../../src/inbound/read-body.ts';
import type { Route } from '../../../../src/inbound/routes.ts';
import { identityOf, shapeReply } from '../../../../src/outbound/reply-shape.ts';
import { sendStream } from '../../../../src/outbound/send-stream.ts';
import { writeJson } from '../../../../src/outbound/write-reply.ts';
import { forward } from '../spike.ts';
import { HandMadeSource, replyByHand, streamByHand } from './hand-made.ts';

/** A request that has arrived, and what answers it. */
export interface Arrived {
  readonly parts: Parts;
  readonly upstream: Dispatcher;
  readonly exchange: Exchange;
  readonly route: Route;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Reads the body within its limits, and hands it to `use`. */
async function withBody(
  { parts, exchange, request }: Arrived,
  use: (body: Record<string, unknown>) => Promise<void>,
): Promise<void> {
  const buffered = parts.buffered.open(exchange);
  try {
    await use(await readBody(request, parts.settings.server, exchange, buffered));
  } finally {
    buffered.release();
  }
}

/** The way in; the rest is the spike's. */
export const inbound = (arrived: Arrived): Promise<void> =>
  withBody(arrived, async body => {
    const { upstream, exchange, response } = arrived;
    exchange.end.replyEnded();
    await forward(upstream, chatRequest.parse(body), response);
  });

/** Reads the body as a request of its format. */
function withRequest(
  arrived: Arrived,
  answer: (format: GenerationFormat, arrived: Arrived) => Promise<void>,
): Promise<void> {
  return withBody(arrived, async body => {
    const { exchange, route } = arrived;
    const { path, headers } = exchange;
    const format = route.dialect as GenerationFormat;
    exchange.request = format.parse(body, { path, headers, account_id: undefined });
    await answer(format, arrived);
  });
}

/** The way in and the formats; calls and writes are the spike's. */
export const dialect = (arrived: Arrived): Promise<void> =>
  withRequest(arrived, async (format, { upstream, exchange, response }) => {
    const { request, signal } = exchange;
    exchange.end.replyEnded();
    if (!request.stream) {
      const reply = await replyByHand(upstream, request, signal);
      const text = format.renderReply(identityOf(exchange), reply);
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
      response.writeHead(200, headers).end(text);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const renderer = format.renderStream(identityOf(exchange), () => 0);
    await streamByHand(upstream, request, signal, chunk => void response.write(renderer.chunk(chunk)));
    response.end(renderer.end());
  });

/** The way in, the formats and the way out; calls are the spike's. */
export const outbound = (arrived: Arrived): Promise<void> =>
  withRequest(arrived, async (format, { parts, upstream, exchange, response }) => {
    const source = new HandMadeSource(upstream, exchange);
    const identity = identityOf(exchange);
    if (!exchange.request.stream) {
      const reply = shapeReply(exchange, await source.reply());
      return writeJson(exchange, response, 200, format.renderReply(identity, reply));
    }
    const renderer = format.renderStream(identity, () => 0);
    const { server } = parts.settings;
    await sendStream(exchange, response, source.stream(), renderer, GatewayError.from, server);
  });
