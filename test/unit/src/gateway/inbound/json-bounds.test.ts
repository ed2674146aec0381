import { describe, expect, it } from '@jest/globals';
import { checkBody, checkText } from '../../../../../src/gateway/inbound/json-bounds.ts';

const limits = { max_body_values: 300_000, max_body_keys: 150_000 };
const few = { max_body_values: 10, max_body_keys: 6 };

/** `levels` arrays or objects in each other, mixed; the body around them is one more. */
function nested(levels: number): unknown {
  let value: unknown = 'text';
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value };
  return value;
}

const tooMany = (what: string) =>
  expect.objectContaining({
    status: 400,
    type: 'invalid_request_error',
    message: `The request body has more than the ${what} accepted.`,
  });

describe('a body with many values or keys', () => {
  const withValues = (count: number) => ({ list: Array.from({ length: count - 2 }, () => null) });
  const withKeys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));

  it('is accepted up to the limit, as text and parsed', () => {
    for (const body of [withValues(10), withKeys(6)]) {
      expect(() => checkText(Buffer.from(JSON.stringify(body)), few)).not.toThrow();
      expect(() => checkBody(body, few)).not.toThrow();
    }
  });

  it('is rejected above the limit with the accepted number, as text and parsed', () => {
    const wide: [Record<string, unknown>, string][] = [
      [withValues(11), '10 values'],
      [withKeys(7), '6 keys'],
      [{ deep: withKeys(6) }, '6 keys'],
      [{ list: [[], [], [], [], [], [], [], [], []] }, '10 values'],
    ];
    for (const [body, what] of wide) {
      expect(() => checkText(Buffer.from(JSON.stringify(body)), few)).toThrow(tooMany(what));
      expect(() => checkBody(body, few)).toThrow(tooMany(what));
    }
  });

  it('is rejected without reading the rest of it', () => {
    let seen = 0;
    const endless = new Proxy([], {
      get: (_, key) =>
        key === Symbol.iterator ? () => ({ next: () => ({ done: false, value: seen++ }) }) : 0,
    });
    expect(() => checkBody({ endless }, few)).toThrow(tooMany('10 values'));
    expect(seen).toBeLessThan(12);
  });
});

describe('the nesting check', () => {
  it.each([
    ['messages', 64],
    ['metadata', 64],
    ['anything', 64],
    ['tools', 256],
  ])('allows, in %s, %d levels in all and no more', (name, levels) => {
    expect(() => checkBody({ model: 'a', [name]: nested(levels - 1) }, limits)).not.toThrow();
    expect(() => checkBody({ model: 'a', [name]: nested(levels) }, limits)).toThrow(
      expect.objectContaining({
        status: 400,
        type: 'invalid_request_error',
        param: name,
        message: `${name}: is nested more than ${levels} levels deep.`,
      }),
    );
  });

  it('stops at the limit', () => {
    const body = JSON.parse(`{"messages":${'['.repeat(200_000)}${']'.repeat(200_000)}}`) as Record<
      string,
      unknown
    >;
    expect(() => checkBody(body, limits)).toThrow('messages: is nested more than 64 levels deep.');
  });

  it('truncates a field name of a million characters', () => {
    const param = 'x'.repeat(64);
    expect(() => checkBody({ ['x'.repeat(1_000_000)]: nested(64) }, limits)).toThrow(
      expect.objectContaining({ param, message: `${param}: is nested more than 64 levels deep.` }),
    );
  });

  it('ignores breadth', () => {
    const body = { messages: Array.from({ length: 10_000 }, () => ({ content: [{}] })) };
    expect(() => checkBody(body, limits)).not.toThrow();
  });
});

describe('the largest conversation that the limits are made for', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } };
  const content = [{ type: 'text', text: 'words' }];
  const messages = Array.from({ length: 5000 }, () => [
    { role: 'assistant', content, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content },
  ]).flat();
  const properties = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`field${at}`, { type: 'string', description: 'a field' }]),
  );
  const tools = Array.from({ length: 128 }, (_, at) => ({
    type: 'function',
    function: { name: `tool${at}`, parameters: { type: 'object', properties } },
  }));

  it('is within the limits: 10,000 messages with parts and tool calls, 128 tools of 60 properties', () => {
    const body = { model: 'a', messages, tools };
    expect(() => checkText(Buffer.from(JSON.stringify(body)), limits)).not.toThrow();
    expect(() => checkBody(body, limits)).not.toThrow();
  });
});
