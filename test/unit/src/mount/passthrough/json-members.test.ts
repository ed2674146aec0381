import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonMembers } from '../../../../../src/mount/passthrough/json-members.ts';

/** Reads `text` in parts of at most `size` bytes. */
function read(text: string, size = text.length, max_value_bytes = 1000): JsonMembers {
  const members = new JsonMembers(['usage', 'model'], max_value_bytes);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) members.write(bytes.subarray(at, at + size));
  return members;
}

const hard = [
  { model: 'a', usage: { total_tokens: 1 } },
  { data: ['"usage":{', '\\', '\\"', ['}{]['], {}], usage: [1, { a: '}' }], model: 'é\\' },
  { data: { usage: 1, model: 'inner' }, model: 'outer' },
  { data: [Array.from({ length: 200 }, (_, at) => at / 7), 'x'.repeat(300)], usage: null },
];

describe('members of a JSON object that comes in parts', () => {
  it.each([1, 2, 7, 64, 10_000])('are those that a parser reads, in parts of %i bytes', size => {
    for (const object of hard) {
      for (const text of [
        JSON.stringify(object),
        JSON.stringify(object, null, 2),
        `\uFEFF${JSON.stringify(object)} `,
      ]) {
        const members = read(text, size);
        expect([members.isComplete, members.get('usage'), members.get('model')]).toEqual([
          true,
          object.usage,
          object.model,
        ]);
      }
    }
  });

  it('are those that a parser reads of any object', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const object = fc.dictionary(fc.oneof(fc.constantFrom('usage', 'model'), fc.string()), value);
    fc.assert(
      fc.property(object, fc.integer({ min: 1, max: 9 }), (object, size) => {
        const text = JSON.stringify(object);
        const members = read(text, size, 10_000);
        const parsed = JSON.parse(text) as Record<string, unknown>;
        expect([members.get('usage'), members.get('model')]).toEqual([parsed.usage, parsed.model]);
      }),
      { numRuns: 200 },
    );
  });

  it('are found under names that are written with escapes, and the last of several counts', () => {
    expect(read('{"model":"a","mod\\u0065l":"b"}').get('model')).toBe('b');
  });

  it('are left out above the limit', () => {
    const members = read(`{"usage":"${'x'.repeat(2000)}","model":"a"}`, 64);
    expect([members.get('usage'), members.get('model')]).toEqual([undefined, 'a']);
  });

  it.each(['', '[{"model":"a"}]', '"model"', 'model', '{"model":}', '{"model":"a', '{"other":{"model":"a"}'])(
    'are none of %s',
    text => {
      expect(read(text, 3).get('model')).toBeUndefined();
    },
  );

  it.each(
    (
      '{""""|{"a""b"|{"a":"b""c"|{"a":1 2|{"a":1]|{"a":["b""c"|{"a":{"b" "c"|{"a":[{} {|' +
      '{"a":[[]1|{"a":[]{}|{"a"::|{"a":,|{"a":}|{,|{"a":1,,|{"a":1,}|{]|{"a"}'
    ).split('|'),
  )('are read up to the first fault, and what follows %s is not', broken => {
    const members = read(`{"model":"a",${broken.slice(1)}"","model":"b"}`, 5);
    expect([members.isComplete, members.get('model')]).toEqual([false, 'a']);
  });

  it('are read in linear time, however many strings and brackets there are', () => {
    const parts = (count: number) => Buffer.from(`{"a":[${'"",[],'.repeat(count)}0],"model":"b"}`);
    const timeOf = (part: Buffer) => {
      const began_ms = performance.now();
      const members = new JsonMembers(['model'], 1000);
      members.write(part);
      expect(members.get('model')).toBe('b');
      return performance.now() - began_ms;
    };
    timeOf(parts(100_000));
    expect(timeOf(parts(1_000_000))).toBeLessThan(5000);
  });

  it.each(['{"n":1,"n":SPACES2}', '{"n":1,SPACES"n":SPACES2}', '{"n":1,"\\u006e"SPACES:2}'])(
    'are not those of an earlier member of the same name when the last is too large to be read: %s',
    text => {
      const members = new JsonMembers(['n'], 1000);
      for (const part of text.replaceAll('SPACES', ' '.repeat(2000)).match(/.{1,64}/g)!)
        members.write(Buffer.from(part));
      expect([members.isComplete, members.get('n')]).toEqual([true, undefined]);
    },
  );
});
