import { describe, expect, it } from '@jest/globals';
import { sampleSchema } from '../../../src/simulator/schema-sample.ts';
import { Dice } from '../../../src/simulator/seed.ts';

const sample = (schema: unknown): unknown => sampleSchema(schema, ['Paris'], new Dice(1));

describe('sampleSchema', () => {
  it('fills every property of an object', () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['c', 'f'] },
        days: { type: 'integer', minimum: 3, maximum: 3 },
        day: { type: 'string', format: 'date' },
        tags: { type: 'array', items: { type: ['null', 'string'] } },
        deep: { properties: { on: { type: 'boolean' }, fixed: { const: 7 } } },
      },
    };
    expect(sample(schema)).toEqual({
      city: 'Paris',
      unit: expect.stringMatching(/^[cf]$/),
      days: 3,
      day: '2026-01-31',
      tags: ['Paris'],
      deep: { on: expect.any(Boolean), fixed: 7 },
    });
  });

  it('stops at endless depth and at invalid schemas', () => {
    const endless: { type: string; properties: Record<string, unknown> } = { type: 'object', properties: {} };
    endless.properties.self = endless;
    expect(JSON.stringify(sample(endless)).length).toBeLessThan(200);
    expect(sample(undefined)).toBe('Paris');
  });
});
