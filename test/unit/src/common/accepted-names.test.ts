import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { acceptedAt } from '../../../../src/common/accepted-names.ts';

const schema = z.strictObject({
  plain: z.strictObject({ a: z.string(), b: z.string() }),
  wrapped: z.strictObject({ c: z.string() }).nullable().optional().prefault({ c: '' }),
  refined: z.strictObject({ d: z.string() }).refine(() => true),
  piped: z.strictObject({ e: z.string() }).transform(value => value),
  list: z.array(z.strictObject({ f: z.string() })).default([]),
  record: z.record(z.string(), z.strictObject({ g: z.string() })),
  either: z.union([
    z.strictObject({ h: z.string(), i: z.string() }),
    z.strictObject({ h: z.string(), j: z.string() }),
    z.string(),
  ]),
  chosen: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('one'), k: z.string() }),
    z.strictObject({ kind: z.literal('two'), l: z.string() }),
  ]),
  any: z.record(z.string(), z.unknown()),
  text: z.string(),
});

describe('the accepted names in an error', () => {
  it.each<[(string | number)[], string[]]>([
    [[], Object.keys(schema.shape)],
    [['plain'], ['a', 'b']],
    [['wrapped'], ['c']],
    [['refined'], ['d']],
    [['piped'], ['e']],
    [['list', 3], ['f']],
    [['record', 'anything'], ['g']],
    [['either'], ['h', 'i', 'j']],
    [['chosen'], ['kind', 'k', 'l']],
    [['any'], []],
    [['any', 'thing', 'below'], []],
    [['text'], []],
    [['absent', 'below'], []],
  ])('are listed at %j', (path, names) => {
    expect(acceptedAt(schema, path)).toEqual(names);
  });

  it('are those of the chosen variant of a union', () => {
    expect(acceptedAt(schema, ['chosen'], { chosen: { kind: 'two' } })).toEqual(['kind', 'l']);
    expect(acceptedAt(schema, ['chosen'], { chosen: { kind: 'three' } })).toEqual(['kind', 'k', 'l']);
    expect(acceptedAt(schema, ['chosen'], { chosen: null })).toEqual(['kind', 'k', 'l']);
  });
});
