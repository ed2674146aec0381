import type { CatalogAnswer } from '../dialects/define-dialect.ts';
import type { Exchange } from '../exchange.ts';
import type { ReplySink } from './reply-sink.ts';
import { writeJson } from './write-reply.ts';

/** Sends a dialect's answer from the catalog. */
export function writeAnswer(exchange: Exchange, response: ReplySink, answer: CatalogAnswer): void {
  const { status, headers, body } = answer;
  if (body !== undefined) return writeJson(exchange, response, status, body, headers);
  exchange.end.replied(status);
  exchange.end.replyEnded();
  response.writeHead(status, { 'x-request-id': exchange.id, ...exchange.replyHeaders, ...headers }).end();
}
