const places = 9;

/** Dollars as billionths, rounded up; `undefined` for what is no decimal without exponent. Read digit by digit: this is done for every exchange. */
export function nanoUsdOf(dollars: string): number | undefined {
  let nano = 0;
  let point = -1;
  let isMore = false;
  for (let at = 0; at < dollars.length; at++) {
    const digit = dollars.charCodeAt(at) - 48;
    if (digit === -2 && point === -1 && at > 0 && at < dollars.length - 1) point = at;
    else if (digit < 0 || digit > 9) return undefined;
    else if (point === -1 || at - point <= places) nano = nano * 10 + digit;
    else isMore ||= digit > 0;
  }
  if (dollars === '') return undefined;
  const given = point === -1 ? 0 : Math.min(places, dollars.length - 1 - point);
  return nano * 10 ** (places - given) + (isMore ? 1 : 0);
}

/** A decimal number or string of at most nine places as billionths; `undefined` for anything else. */
export function exactNanoUsdOf(dollars: string | number): number | undefined {
  const text = typeof dollars === 'string' ? dollars : dollars.toFixed(places);
  if (typeof dollars === 'number' && Number(text) !== dollars) return undefined;
  const nano = nanoUsdOf(text);
  const isExact = !/[1-9]/.test(text.split('.')[1]?.slice(places) ?? '');
  return isExact && Number.isSafeInteger(nano) ? nano : undefined;
}
