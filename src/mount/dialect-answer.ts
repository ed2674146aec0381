import type { CatalogAnswer, CatalogAnswers } from '../gateway/dialects/define-dialect.ts';
import type { Exchange } from '../gateway/exchange/exchange.ts';
import type { PreparedExchange, RunnerParts } from '../gateway/exchange/runner.ts';
import { BufferedBody } from '../gateway/inbound/buffered-bytes.ts';
import { readBody } from '../gateway/inbound/read-body.ts';
import { writeHead } from '../gateway/outbound/reply-headers.ts';
import type { ReplySink } from '../gateway/outbound/reply-sink.ts';
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
  if (!(answer instanceof Promise)) return writeAnswer(exchange, response, answer);
  return answer.then(found => writeAnswer(exchange, response, found)).finally(() => held?.release());
}

/** Sends an answer. */
export function writeAnswer(exchange: Exchange, response: ReplySink, answer: CatalogAnswer): void {
  const { status, headers, body } = answer;
  if (body !== undefined) return writeJson(exchange, response, status, body, headers);
  exchange.end.replied(status);
  exchange.end.replyEnded();
  writeHead(exchange, response, status, {}, headers);
  response.end();
}
