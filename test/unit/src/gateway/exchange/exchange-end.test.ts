import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Cause, ExchangeEnd } from '../../../../../src/gateway/exchange/exchange-end.ts';

let end: ExchangeEnd;
beforeEach(() => {
  end = new ExchangeEnd();
});

const causes: readonly Cause[] = [
  'client_gone',
  'slow_client',
  'time_limit',
  'shutdown',
  'upstream_failed',
  'refused',
  'internal_error',
];

describe('the end reason of an exchange', () => {
  it.each(causes)('is %s when that was the first cause, whatever was reported or sent later', cause => {
    end.causedBy(cause);
    for (const later of causes) end.causedBy(later);
    end.clientLeft();
    end.replied(502);
    end.errorSent({ type: 'server_error' });
    expect([end.cause, end.reason]).toEqual([cause, cause]);
  });

  it.each([
    [200, undefined, 'completed'],
    [399, undefined, 'completed'],
    [429, 'rate_limit_error', 'refused'],
    [400, undefined, 'refused'],
    [502, 'server_error', 'internal_error'],
    [200, 'provider_error', 'upstream_failed'],
  ] as const)('follows from status %s and error %s without a cause: %s', (status, error_type, reason) => {
    end.replied(status);
    if (error_type) end.errorSent({ type: error_type });
    expect([end.cause, end.reason]).toEqual([undefined, reason]);
  });

  it.each([
    ['server_error', 'internal_error'],
    ['provider_error', 'upstream_failed'],
    ['invalid_request_error', 'refused'],
  ])('is that of an inner chain which handed on a %s', (error_type, reason) => {
    end.handedOn(error_type);
    end.replied(400);
    end.errorSent({ type: 'invalid_request_error' });
    expect(end.reason).toBe(reason);
  });
});

describe('a background read that was aborted', () => {
  it('decides the end reason and leaves the cause and the status', () => {
    end.causedBy('time_limit');
    end.replied(524);
    end.readAborted();
    expect([end.reason, end.cause, end.status]).toEqual(['background_aborted', 'time_limit', 524]);
  });
});

describe('a client that left', () => {
  it('counts as gone even where another cause came first', () => {
    end.causedBy('shutdown');
    end.clientLeft();
    expect([end.reason, end.client_gone]).toEqual(['shutdown', true]);
  });
});

describe('the status of an exchange', () => {
  it('is 0 before a head was written, then that of the last head', () => {
    expect(end.status).toBe(0);
    end.replied(200);
    end.replied(502);
    expect(end.status).toBe(502);
  });

  it('stays 524 while the reply past the time limit is read on and written by an inner chain', () => {
    end.replied(200);
    end.causedBy('time_limit');
    end.replied(524);
    end.replied(200);
    expect(end.status).toBe(524);
  });
});
