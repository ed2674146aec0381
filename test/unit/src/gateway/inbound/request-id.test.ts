import { describe, expect, it } from '@jest/globals';
import { requestIdOf } from '../../../../../src/gateway/inbound/request-id.ts';

describe('the request id', () => {
  it.each(['a', 'req_123', '0af7651916cd43dd8448eb211c80319c', 'x'.repeat(128), 'a.b:c-d_e'])(
    'is taken from the caller: %s',
    id => {
      expect(requestIdOf({ 'x-request-id': id })).toBe(id);
    },
  );

  it.each([undefined, '', ' ', 'a b', 'a\r\nset-cookie: b', 'ä', '{"a":1}', 'x'.repeat(129), 'a, b'])(
    'is generated where the caller sends no valid one: %j',
    id => {
      const made = requestIdOf(id === undefined ? {} : { 'x-request-id': id });
      expect(made).toMatch(/^req_[\da-f]{32}$/);
      expect(requestIdOf({})).not.toBe(made);
    },
  );
});
