import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  shownDecimal,
  typedCount,
  typedDecimal,
  typedDollars,
} from '../../../../plugins/dashboard/typed-number.ts';

describe('a number as people type it', () => {
  it.each([
    ['400000', '400000'],
    [' 400 000 ', '400000'],
    ['400\u202f000', '400000'],
    ['1,000', '1000'],
    ['1_000_000', '1000000'],
    ["12'500", '12500'],
    ['1,000.50', '1000.50'],
    ['400k', '400000'],
    ['2 M', '2000000'],
    ['2.5m', '2500000'],
    ['1.25B', '1250000000'],
    ['0.005', '0.005'],
    ['.5', '0.5'],
    ['5.50', '5.50'],
    ['007', '7'],
    ['1234.567', '1234.567'],
  ])('%j is %s', (text, decimal) => expect(typedDecimal(text)).toBe(decimal));

  it.each([
    '',
    ' ',
    '1,5',
    '1.000',
    '12.500k',
    '0,005',
    '1,00',
    '10,0000',
    '1.000,50',
    '1,000 000',
    '1.000.000',
    '5.',
  ])('%j is refused, for it is none or can be read in two ways', text =>
    expect(typedDecimal(text)).toBeUndefined(),
  );

  it.each(['-1', '1e6', '0x10', 'five', '5%', '€5', '٥', '1'.repeat(41), `${' '.repeat(1e6)}5`])(
    '%.20j is refused',
    text => expect(typedDecimal(text)).toBeUndefined(),
  );

  it('is read as it was, however its thousands are grouped', () => {
    const separator = fc.constantFrom('', ',', '_', ' ', "'", '\u202f', '\u00a0');
    fc.assert(
      fc.property(fc.maxSafeNat(), separator, fc.constantFrom('', '$', 'USD '), (count, mark, sign) => {
        const text = String(count).replace(/\B(?=(\d{3})+(?!\d))/g, mark);
        expect(typedCount(text)).toEqual({ value: count });
        if (count < 9e6) expect(typedDollars(sign + text)).toEqual({ value: String(count) });
      }),
    );
  });

  it('is never an amount that is not shown the same', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat({ max: 999_999_999 }),
        fc.integer({ min: 1, max: 9 }),
        (whole, rest, places) => {
          const usd = `${whole % 1e6}.${String(rest).padStart(9, '0').slice(0, places)}`;
          const read = typedDollars(shownDecimal(usd));
          expect('value' in read && Number(read.value)).toBe(Number(usd));
        },
      ),
    );
  });
});

describe('an amount', () => {
  it.each(['$5', '$ 5', '5 $', '5 USD', 'usd 5'])('of dollars may be %j', text =>
    expect(typedDollars(text)).toEqual({ value: '5' }),
  );

  it.each([
    [typedCount, '1.5', 'a whole number such as 400000'],
    [typedCount, '$5', 'a whole number'],
    [typedCount, '9007199254740993', 'a whole number'],
    [typedDollars, '1,5', 'dollars such as 5, 5.50'],
    [typedDollars, '0.0000000001', 'dollars'],
    [typedDollars, '$$5', 'dollars'],
  ])('that cannot be one is refused with what is accepted', (read, text, accepted) =>
    expect(read(text)).toEqual({
      fault: expect.stringContaining(`“${text}” cannot be read: write ${accepted}`),
    }),
  );
});
