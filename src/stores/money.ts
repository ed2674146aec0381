const decimal = /^(\d+)(?:\.(\d+))?$/;
const places = 9;

/** Dollars as billionths, rounded up; `undefined` for what is no decimal without exponent. */
export function nanoUsdOf(dollars: string): number | undefined {
  const [, whole, fraction = ''] = decimal.exec(dollars) ?? [];
  if (whole === undefined) return undefined;
  const nano = Number(whole + fraction.slice(0, places).padEnd(places, '0'));
  return /[1-9]/.test(fraction.slice(places)) ? nano + 1 : nano;
}

/** A decimal number or string of at most nine places as billionths; `undefined` for anything else. */
export function exactNanoUsdOf(dollars: string | number): number | undefined {
  const text = typeof dollars === 'string' ? dollars : dollars.toFixed(places);
  if (typeof dollars === 'number' && Number(text) !== dollars) return undefined;
  const nano = nanoUsdOf(text);
  const isExact = !/[1-9]/.test(text.split('.')[1]?.slice(places) ?? '');
  return isExact && Number.isSafeInteger(nano) ? nano : undefined;
}
