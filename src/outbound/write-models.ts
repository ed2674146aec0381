import type { EncodedCatalog } from '../dialects/models.ts';
import type { Exchange } from '../exchange.ts';
import type { ReplySink } from './reply-sink.ts';
import { writeJson } from './write-reply.ts';

/** The catalog, or 304 to a client that has it already (RFC 9110, 13.1.2: tags are compared weakly). */
export function writeModels(exchange: Exchange, response: ReplySink, { body, etag }: EncodedCatalog): void {
  const caching = { etag, 'cache-control': 'public, max-age=60' };
  const known = exchange.headers['if-none-match'];
  const matches = known
    ?.split(',')
    .some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
  if (!matches) return writeJson(exchange, response, 200, body, caching);
  exchange.end.replied(304);
  exchange.end.replyEnded();
  response.writeHead(304, { 'x-request-id': exchange.id, ...exchange.replyHeaders, ...caching }).end();
}
