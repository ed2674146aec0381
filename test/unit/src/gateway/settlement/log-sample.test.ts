import { describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../../../../src/gateway/exchange/exchange-view.ts';
import { lineShare } from '../../../../../src/gateway/settlement/log-sample.ts';

const completed = { outcome: 'completed' };
const failed = { outcome: 'failed' };
const success = { end_reason: 'completed', status: 200, attempts: [completed] };
const refused = { end_reason: 'refused', attempts: [] };
const shareOf = (log_sample: number, outcome: object = {}, draw?: number) =>
  lineShare({ ...success, ...outcome } as unknown as Outcome, log_sample, draw);

describe('the line of an exchange in the log', () => {
  it('is drawn for its share when the exchange succeeded', () => {
    expect([0, 0.0999, 0.1, 0.9].map(draw => shareOf(0.1, {}, draw))).toEqual([0.1, 0.1, 0, 0]);
    expect([0, 0.9999].map(draw => shareOf(0, {}, draw))).toEqual([0, 0]);
    expect([0, 0.9999].map(draw => shareOf(1, {}, draw))).toEqual([1, 1]);
  });

  it.each([
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [429, 'rate_limit_error'],
    [400, 'invalid_request_error'],
    [404, 'invalid_request_error'],
    [402, undefined],
  ])('is drawn for its share when the client was refused with %i %s', (status, error_type) => {
    const outcome = { ...refused, status, error_type };
    expect([0, 0.9].map(draw => shareOf(0.1, outcome, draw))).toEqual([0.1, 0]);
  });

  it('is drawn as often as its share says', () => {
    const written = Array.from({ length: 20_000 }, () => shareOf(0.25)).filter(share => share > 0);
    expect(new Set(written)).toEqual(new Set([0.25]));
    expect(written.length).toBeGreaterThan(4500);
    expect(written.length).toBeLessThan(5500);
  });

  it.each([
    ['was answered with an error status', { status: 404 }],
    ['was refused for overload', { ...refused, status: 502, error_type: 'server_error' }],
    ['was refused by its configuration', { ...refused, status: 400, error_type: 'configuration_error' }],
    ['was refused because every provider rests', { ...refused, status: 502, error_type: 'provider_error' }],
    ['was refused by its provider', { ...refused, status: 400, attempts: [failed] }],
    ['had an error inside its stream', { error_type: 'provider_error' }],
    ['was left by its client', { end_reason: 'client_gone', status: 0 }],
    ['ran into the time limit', { end_reason: 'time_limit' }],
    ['was retried', { attempts: [failed, completed] }],
    ['failed after its last finish reason', { attempts: [failed] }],
    ['has a recorded trace', { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' }],
  ])('is always written when the exchange %s', (_, outcome) => {
    expect(shareOf(0, outcome)).toBe(1);
  });
});
