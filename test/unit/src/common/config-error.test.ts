import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { checkedBy, mistakesIn } from '../../../../src/common/config-error.ts';

function mistakesOf(schema: z.ZodType, value: unknown): string[] | undefined {
  try {
    checkedBy('options', schema, value);
  } catch (thrown) {
    return mistakesIn(thrown);
  }
  return undefined;
}

describe('a value that a schema refuses', () => {
  it.each<[z.ZodType, unknown, string]>([
    [z.number().positive(), 0, 'must be above 0, not 0'],
    [z.int().min(1), -3, 'must be at least 1, not -3'],
    [z.number().lt(5), 5, 'must be below 5, not 5'],
    [z.int().max(8), 9, 'must be at most 8, not 9'],
    [z.string().min(1), '', 'must not be empty'],
    [z.string().min(8), 'secret', 'must have at least 8 characters, not 6'],
    [z.string().max(3), 'secret', 'must have at most 3 characters, not 6'],
    [z.array(z.int()).min(1), [], 'must not be empty'],
    [z.array(z.int()).max(1), [1, 2], 'must have at most 1 elements, not 2'],
    [z.iso.date(), '31.1.2026', 'must be a date such as 2026-01-31'],
    [z.url(), 'secret', 'must be an address such as https://host/v1'],
    [z.record(z.string(), z.string()), undefined, 'is required: an object'],
    [z.int().min(1, 'is counted from 1'), 0, 'is counted from 1'],
  ])('is told what is accepted, in words of ours: %#', (schema, value, message) => {
    expect(mistakesOf(z.object({ option: schema }), { option: value })).toEqual([`option: ${message}`]);
  });
});
