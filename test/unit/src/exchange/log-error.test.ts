import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type ErrorCode, refusal } from '../../../../src/errors.ts';
import { logError } from '../../../../src/exchange/log-error.ts';
import { sampleExchange } from '../../sample-exchange.ts';

describe('the log of errors', () => {
  it.each<[ErrorCode, number]>([
    ['server_error', 50],
    ['provider_misconfigured', 50],
    ['provider_error', 40],
    ['provider_unreachable', 40],
    ['time_limit', 40],
    ['invalid_request', 20],
    ['invalid_api_key', 20],
    ['rate_limited', 20],
  ])('records %s at level %d with its cause and the request id', (code, level) => {
    const lines: unknown[] = [];
    const log = pino({ level: 'debug' }, { write: text => lines.push(JSON.parse(text)) });
    logError(
      sampleExchange({ start: { log, id: 'req_7' } }),
      refusal(code, { cause: new Error('inner words') }),
    );
    expect(lines).toEqual([
      expect.objectContaining({
        level,
        code,
        request_id: 'req_7',
        err: expect.objectContaining({ message: 'inner words' }),
      }),
    ]);
  });
});
