import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type CountedJson,
  exceeds,
  type JsonSize,
  jsonSizeOf,
  mayExceed,
} from '../../../../src/common/json-size.ts';

const unlimited = { values: Number.POSITIVE_INFINITY, keys: Number.POSITIVE_INFINITY };
const sizeOfText = (text: string, limits: JsonSize = unlimited) => jsonSizeOf(Buffer.from(text), limits);

/** What a walk of the parsed value finds. */
function walked(value: unknown): CountedJson {
  if (typeof value !== 'object' || value === null) return { values: 1, keys: 0, containers: 0, levels: 0 };
  const sizes = Object.values(value).map(walked);
  const own = Array.isArray(value) ? 0 : sizes.length;
  return {
    values: sizes.reduce((sum, { values }) => sum + values, 1),
    keys: sizes.reduce((sum, { keys }) => sum + keys, own),
    containers: sizes.reduce((sum, { containers }) => sum + containers, 1),
    levels: 1 + Math.max(0, ...sizes.map(({ levels }) => levels)),
  };
}

/** Every kind of value; `__proto__` as a key, escapes and what is no ASCII come of themselves. */
const jsonText = fc
  .tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t', ' \n\r'))
  .map(([value, space]) => JSON.stringify(value, null, space));

/** Values with as few bytes as they can have. */
const { denseJson } = fc.letrec(tie => ({
  denseJson: fc.oneof(
    { maxDepth: 4 },
    fc.constant(0),
    fc.array(tie('denseJson'), { maxLength: 6 }),
    fc.dictionary(fc.string({ maxLength: 1 }), tie('denseJson'), { maxKeys: 4 }),
  ),
}));

describe('the size of JSON text', () => {
  it('equals that of the value from JSON.parse', () => {
    fc.assert(
      fc.property(jsonText, text => {
        expect(sizeOfText(text)).toEqual(walked(JSON.parse(text)));
      }),
      { numRuns: 1000 },
    );
  });

  it.each<[string, number, number, number]>([
    ['{}', 1, 0, 1],
    ['[]', 1, 0, 1],
    [' [ ] ', 1, 0, 1],
    ['17', 1, 0, 0],
    ['"[{,:"', 1, 0, 0],
    [String.raw`["\"",",\\",{"\\":"}"}]`, 5, 1, 2],
    ['[[],{},[[]],{"a":{}}]', 7, 1, 3],
    ['{"a":1,"a":2,"a":3}', 4, 3, 1],
    ['[-1.5e-7 , true\n,false,\tnull]', 5, 0, 1],
  ])('of %s is %d values, %d keys and %d levels', (text, values, keys, levels) => {
    expect(sizeOfText(text)).toMatchObject({ values, keys, levels });
  });

  it('exceeds no limit that is equal to it', () => {
    fc.assert(
      fc.property(jsonText, text => {
        const size = walked(JSON.parse(text));
        expect(sizeOfText(text, size)).toEqual(size);
        expect(exceeds(text, size)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('exceeds every limit below that of the parsed value', () => {
    fc.assert(
      fc.property(jsonText, text => {
        const { values, keys } = walked(JSON.parse(text));
        fc.pre(values > 1 && keys > 0);
        expect(exceeds(text, { values: values - 1, keys })).toBe(true);
        expect(exceeds(text, { values, keys: keys - 1 })).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('is above no limit that the text is too short to exceed', () => {
    fc.assert(
      fc.property(denseJson, value => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        const { values, keys } = walked(value);
        expect(mayExceed(bytes, { ...unlimited, values: values - 1 })).toBe(true);
        fc.pre(keys > 0);
        expect(mayExceed(bytes, { ...unlimited, keys: keys - 1 })).toBe(true);
      }),
    );
  });

  it.each([1, 10, 300_000])('is not counted for text too short to exceed a limit of %d', limit => {
    const most = Number.MAX_SAFE_INTEGER;
    const arrays = `[${Array(limit).fill(0)}]`;
    const objects = `{${Array(limit + 1).fill('"":0')}}`;
    expect(mayExceed(arrays.length, { values: limit, keys: most })).toBe(true);
    expect(mayExceed(2 * limit - 1, { values: limit, keys: most })).toBe(false);
    expect(mayExceed(objects.length, { values: most, keys: limit })).toBe(true);
    expect(mayExceed(5 * limit - 1, { values: most, keys: limit })).toBe(false);
  });

  it('is counted to the end of any text, JSON or not, without throwing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        const { values, keys } = jsonSizeOf(bytes, unlimited);
        expect(values + keys).toBeLessThanOrEqual(bytes.length + 1);
      }),
    );
  });

  it('is counted in one pass that stops at the limit', () => {
    const reads = (text: string, limits: JsonSize): number => {
      let count = 0;
      const bytes = new Proxy(Buffer.from(text), {
        get(target, key) {
          if (key !== 'length') count++;
          return Reflect.get(target, key, target);
        },
      });
      jsonSizeOf(bytes, limits);
      return count;
    };
    const long = ['"\\"\\\\"', '[{}]', '[[[[', '{"a":1,"b":', '   ', '12345'].map(part => part.repeat(1000));
    for (const text of long) expect(reads(text, unlimited)).toBeLessThanOrEqual(3 * text.length);
    expect(reads('[1,'.repeat(100_000), { values: 10, keys: 10 })).toBeLessThan(100);
    expect(reads('{"a":'.repeat(100_000), { values: 100, keys: 10 })).toBeLessThan(200);
  });
});
