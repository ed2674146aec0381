import { describe, expect, it } from '@jest/globals';
import { checkDepth } from '../../../../src/inbound/depth.ts';

/** `levels` arrays or objects in each other, mixed; the body around them is one more. */
function nested(levels: number): unknown {
  let value: unknown = 'text';
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value };
  return value;
}

describe('nesting (m15)', () => {
  it.each([
    ['messages', 64],
    ['metadata', 64],
    ['anything', 64],
    ['tools', 256],
  ])('of %s may be %d levels in all, and no more', (name, levels) => {
    expect(() => checkDepth({ model: 'a', [name]: nested(levels - 1) })).not.toThrow();
    expect(() => checkDepth({ model: 'a', [name]: nested(levels) })).toThrow(
      expect.objectContaining({
        status: 400,
        type: 'invalid_request_error',
        param: name,
        message: `${name}: is nested more than ${levels} levels deep.`,
      }),
    );
  });

  it('is found out without following it to the end', () => {
    const body = JSON.parse(`{"messages":${'['.repeat(200_000)}${']'.repeat(200_000)}}`) as Record<
      string,
      unknown
    >;
    expect(() => checkDepth(body)).toThrow('messages: is nested more than 64 levels deep.');
  });

  it('is not breadth', () => {
    expect(() =>
      checkDepth({ messages: Array.from({ length: 10_000 }, () => ({ content: [{}] })) }),
    ).not.toThrow();
  });
});
