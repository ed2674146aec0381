import type { CatalogAnswer, CatalogAnswers } from '../gateway/dialects/define-dialect.ts';
import type { Exchange } from '../gateway/exchange/exchange.ts';
import type { PreparedExchange, RunnerParts } from '../gateway/exchange/runner.ts';
import { BufferedBody } from '../gateway/inbound/buffered-bytes.ts';
import { readBody } from '../gateway/inbound/read-body.ts';
import { eventStreamHeaders, writeHead } from '../gateway/outbound/reply-headers.ts';
import type { StreamLimits } from '../gateway/outbound/reply-limits.ts';
import type { ReplySink } from '../gateway/outbound/reply-sink.ts';
import { untilRead } from '../gateway/outbound/slow-client.ts';
import { writeJson } from '../gateway/outbound/write-reply.ts';

/** Answers a request by a dialect that asks no upstream. A promise only where the dialect returns one. */
export function writeDialectAnswer(
  dialect: CatalogAnswers,
  { exchange, request, response }: Pick<PreparedExchange, 'exchange' | 'request' | 'response'>,
  path: string,
  { limits, buffered }: Pick<RunnerParts, 'limits' | 'buffered'>,
): void | Promise<void> {
  let held: BufferedBody | undefined;
  const body = async () => {
    held = new BufferedBody(buffered, exchange);
    return readBody(request, limits, exchange, held);
  };
  const answer = dialect.answer(exchange.headers, path, exchange, body);
  if (!(answer instanceof Promise)) return writeAnswer(exchange, response, answer, limits);
  return answer.then(found => writeAnswer(exchange, response, found, limits)).finally(() => held?.release());
}

/** Sends an answer. A promise if it is a stream. */
export function writeAnswer(
  exchange: Exchange,
  response: ReplySink,
  answer: CatalogAnswer,
  limits: Pick<StreamLimits, 'slow_client_ms'>,
): void | Promise<void> {
  const { status, headers, body } = answer;
  if (typeof body === 'string') return writeJson(exchange, response, status, body, headers);
  if (body) {
    exchange.end.replied(status);
    writeHead(exchange, response, status, eventStreamHeaders, headers);
    return writeTexts(exchange, response, body, limits.slow_client_ms);
  }
  exchange.end.replied(status);
  exchange.end.replyEnded();
  writeHead(exchange, response, status, {}, headers);
  response.end();
}

/** Writes the texts of a stream as its client reads them, until either ends. */
async function writeTexts(
  exchange: Exchange,
  response: ReplySink,
  texts: AsyncIterable<string>,
  slow_client_ms: number,
): Promise<void> {
  for await (const text of texts) {
    if (response.destroyed) return;
    const keepsUp = response.write(text);
    response.flush?.();
    if (!keepsUp) await untilRead(exchange, response, 'drain', slow_client_ms);
  }
  exchange.end.replyEnded();
  response.end();
}
