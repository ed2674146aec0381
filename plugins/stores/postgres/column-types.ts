import type { PostgresQuery } from '../../../src/store-plugin.ts';

/** OIDs of types: bool; int8, int2, int4 and numeric. */
const boolean = 16;
const integers = new Set([20, 21, 23, 1700]);

/** Integers as numbers where they fit and bigints where not, booleans, and texts for all other types. */
export const types: PostgresQuery['types'] = {
  getTypeParser(oid) {
    if (integers.has(oid)) return integerOf;
    return oid === boolean ? booleanOf : textOf;
  },
};

function integerOf(text: string): number | bigint | string {
  if (!/^-?\d+$/.test(text)) return text;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

const booleanOf = (text: string): boolean => text === 't';
const textOf = (text: string): string => text;
