import { exactNanoUsdOf } from '../../src/plugin.ts';

/** What was typed as a value, or what is wrong with it. */
export type Typed<T> = { readonly value: T } | { readonly fault: string };

/** Characters of a number that is read, more than any amount has. */
const max_length = 40;
/** Zeros that the letter behind a number stands for. */
const zeros: Readonly<Record<string, number>> = { k: 3, m: 6, b: 9 };
const grouped =
  /^(\d+|[1-9]\d{0,2}(?:([,_' \u00a0\u2009\u202f])\d{3}(?:\2\d{3})*))?(?:\.(\d+))?\s?([kmb]?)$/i;

/**
 * A number as people type it, `400 000`, `1,000`, `1_000`, `2.5M`, as a plain decimal. Undefined for what is none, and for what can be read in
 * two ways: `1,5`, and `1.000`, which is a thousand to some.
 */
export function typedDecimal(text: string): string | undefined {
  if (text.length > max_length) return undefined;
  const [isNumber, digits = '', separator, places = '', letter = ''] = grouped.exec(text.trim()) ?? [];
  if (isNumber === undefined || (digits === '' && places === '')) return undefined;
  if (places.length === 3 && separator === undefined && /^[1-9]\d{0,2}$/.test(digits)) return undefined;
  const shift = zeros[letter.toLowerCase()] ?? 0;
  const moved = places.padEnd(shift, '0');
  const whole = `${digits.replace(/\D/g, '')}${moved.slice(0, shift)}`.replace(/^0+(?=\d)/, '') || '0';
  const rest = shift === 0 ? places : moved.slice(shift).replace(/0+$/, '');
  return rest === '' ? whole : `${whole}.${rest}`;
}

const refused = (text: string, accepted: string) => ({
  fault: `“${text.slice(0, max_length)}” cannot be read: write ${accepted}.`,
});

/** A whole number that was typed. */
export function typedCount(text: string): Typed<number> {
  const value = Number(typedDecimal(text) ?? Number.NaN);
  if (Number.isSafeInteger(value)) return { value };
  return refused(text, 'a whole number such as 400000, 400 000, 1,000, 400k or 2M');
}

/** Dollars that were typed, as a decimal with at most nine places. */
export function typedDollars(text: string): Typed<string> {
  const amount = text.slice(0, max_length + 1).replace(/^\s*(\$|usd\s)\s*|\s*(\$|\susd)\s*$/gi, '');
  const value = typedDecimal(amount);
  if (value !== undefined && exactNanoUsdOf(value) !== undefined) return { value };
  return refused(text, 'dollars such as 5, 5.50, $1,000 or 2k, with a point before the cents');
}

/** A decimal as `typedDecimal` reads it, also with three places. */
export const shownDecimal = (amount: string | number): string =>
  String(amount).replace(/^[1-9]\d{0,2}\.\d{3}$/, '$&0');
