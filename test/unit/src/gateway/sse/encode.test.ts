import { describe, expect, it } from '@jest/globals';
import { doneEvent, encodeEvent, keepAliveComment } from '../../../../../src/gateway/sse/encode.ts';

describe('the encoding of an event', () => {
  it.each([
    [encodeEvent('{"a":1}'), 'data: {"a":1}\n\n'],
    [encodeEvent('{"a":1}', 'response.created'), 'event: response.created\ndata: {"a":1}\n\n'],
    [doneEvent, 'data: [DONE]\n\n'],
    [keepAliveComment, ': keep-alive\n\n'],
  ])('is %j', (text, expected) => {
    expect(text).toBe(expected);
  });
});
