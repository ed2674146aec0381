import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type ErrorCode, refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { logError } from '../../../../../src/gateway/exchange/log-error.ts';
import { ThrottledLog } from '../../../../../src/telemetry/throttled-log.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

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

  it('has one line of each kind of outage of a provider in ten seconds, and every other error', () => {
    const { log, lines } = capturedLog('debug');
    const clock = new FakeClock();
    const outages = new ThrottledLog<string>(clock);
    const fail = (code: ErrorCode, provider: string | undefined, status?: number, origin?: object) => {
      const exchange = sampleExchange({ start: { log } });
      // The last attempt is what counts.
      if (provider !== undefined) exchange.beginAttempt({ provider: 'first' }).status = 500;
      if (provider !== undefined) exchange.beginAttempt({ provider }).status = status;
      logError(exchange, refusal(code, { cause: new Error('inner words') }), origin, outages);
      return lines.splice(0).map(({ left_out }) => left_out ?? 0);
    };
    for (const told of [[0], []]) {
      expect(fail('provider_error', 'one', 503)).toEqual(told);
      expect(fail('provider_error', 'one', 529)).toEqual(told);
      expect(fail('provider_error', 'two', 503)).toEqual(told);
      expect(fail('provider_unreachable', 'one')).toEqual(told);
      expect(fail('provider_misconfigured', 'one', 401)).toEqual(told);
    }
    for (let count = 0; count < 2; count++) {
      expect(fail('server_error', 'one')).toEqual([0]);
      expect(fail('provider_error', 'one', 503, { stage: 'own', hook: 'onReply' })).toEqual([0]);
      expect(fail('provider_error', undefined)).toEqual([0]);
      expect(fail('invalid_api_key', undefined)).toEqual([0]);
    }
    clock.advance(10_000);
    expect(fail('provider_error', 'one', 503)).toEqual([1]);
  });
});
