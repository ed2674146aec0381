import { expect, it } from '@jest/globals';
import { refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { writeError } from '../../../../../src/gateway/outbound/write-reply.ts';
import { writeAnswer } from '../../../../../src/mount/dialect-answer.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { FakeSink } from './sink.ts';

const sent = (endpoint: Parameters<typeof sampleExchange>[0] & object) => {
  const sink = new FakeSink();
  writeError(sampleExchange(endpoint), sink.sink, refusal('invalid_api_key'));
  return JSON.parse(sink.written) as unknown;
};

it('writes an error in the format of the endpoint before anything of the request has been read', () => {
  const errorBody = ({ type, message }: Error & { type: string }) =>
    JSON.stringify({ type: 'error', error: { type, message } });
  const endpoint = { name: 'responses', public: false, errorBody } as const;
  expect(sent({ start: { endpoint } })).toEqual({
    type: 'error',
    error: { type: 'authentication_error', message: 'Invalid API key.' },
  });
});

it("writes an error in OpenAI's envelope where no dialect applies", () => {
  const endpoint = { name: 'unknown', public: false } as const;
  expect(sent({ start: { endpoint } })).toEqual({
    error: { type: 'authentication_error', message: 'Invalid API key.' },
  });
});

it('writes an answer without a body with the headers of stages beside its own', () => {
  const exchange = sampleExchange();
  exchange.replyHeaders['x-word'] = 'hello';
  const client = new FakeSink();
  writeAnswer(exchange, client.sink, { status: 304, headers: { etag: '"1"' } }, { slow_client_ms: 1000 });
  expect(client.headers).toEqual({ 'x-request-id': exchange.id, 'x-word': 'hello', etag: '"1"' });
  expect([client.isEnded, exchange.end.status, exchange.end.reply_ended]).toEqual([true, 304, true]);
});
