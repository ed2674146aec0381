import { describe, expect, it } from '@jest/globals';
import { dollarText } from '../../../../../plugins/dashboard/view/money.ts';

describe('an amount of dollars', () => {
  it.each([
    [0, '$0.00'],
    [12.34, '$12.34'],
    [1234.5, '$1\u202f234.50'],
    [0.99999, '$1.00'],
    [0.5, '$0.50'],
    [0.12345, '$0.1235'],
    [0.0042, '$0.0042'],
    [0.0000425, '$0.000043'],
    [1e-12, '$0.000000000001'],
  ])('of %d is shown with the decimals that matter', (usd, text) => {
    expect(dollarText(usd)).toBe(text);
  });
});
