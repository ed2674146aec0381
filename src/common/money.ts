/**
 * US dollars, kept exactly as integers of 10⁻¹² dollars (`pico_usd`): prices, and so costs, have at most 12 decimals. Limits count in
 * billionths (`nano_usd`), which stay below 2^53 in Lua and JavaScript.
 */
const pico_decimals = 12;
const nano_decimals = 9;
const zero = '0'.charCodeAt(0);
const point_code = '.'.charCodeAt(0);

/**
 * Converts a decimal string of dollars to an integer of 10⁻¹² dollars. Throws a RangeError for anything else, and for more than 12
 * decimals.
 */
export function picoUsd(usd: string): bigint {
  const units = smallUnits(usd, pico_decimals);
  if (units !== undefined) return BigInt(units);
  const read = scaled(usd, pico_decimals);
  if (!read?.isExact) throw new RangeError(`${usd} is not a decimal with at most ${pico_decimals} decimals`);
  return read.units;
}

/** Exact decimal string of an integer of 10⁻¹² dollars, without trailing zeros. */
export function usdOf(pico_usd: bigint | number): string {
  const digits = pico_usd.toString().padStart(pico_decimals + 1, '0');
  let end = digits.length;
  const point = end - pico_decimals;
  while (end > point && digits.charCodeAt(end - 1) === zero) end--;
  const whole = digits.slice(0, point);
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`;
}

/** The same for what may be below zero, such as a margin. */
export const signedUsdOf = (pico_usd: bigint): string =>
  pico_usd < 0n ? `-${usdOf(-pico_usd)}` : usdOf(pico_usd);

/** The integer of what `signedUsdOf` has written. */
export const signedPicoUsd = (usd: string): bigint =>
  usd.startsWith('-') ? -picoUsd(usd.slice(1)) : picoUsd(usd);

/** Dollars as billionths, rounded up; `undefined` for anything but a decimal without exponent. */
export function nanoUsdOf(usd: string): number | undefined {
  const units = smallUnits(usd, nano_decimals);
  if (units !== undefined) return units;
  const read = scaled(usd, nano_decimals);
  return read && Number(read.units) + (read.isExact ? 0 : 1);
}

/** A decimal number or string of at most nine places as billionths; `undefined` for anything else. */
export function exactNanoUsdOf(usd: string | number): number | undefined {
  const text = typeof usd === 'string' ? usd : usd.toFixed(nano_decimals);
  if (typeof usd === 'number' && Number(text) !== usd) return undefined;
  const read = scaled(text, nano_decimals);
  const nano_usd = Number(read?.units);
  return read?.isExact && Number.isSafeInteger(nano_usd) ? nano_usd : undefined;
}

/** Does as `scaled` without making an object, for amounts that a double holds exactly, as nearly all are; `undefined` for any other text. */
function smallUnits(text: string, decimals: number): number | undefined {
  let units = 0;
  let point = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === point_code && at > 0 && point === text.length) point = at;
    else if (code >= zero && code <= zero + 9) units = units * 10 + code - zero;
    else return undefined;
  }
  const places = Math.max(0, text.length - point - 1);
  if (text === '' || text.length === point + 1 || places > decimals) return undefined;
  units *= 10 ** (decimals - places);
  return Number.isSafeInteger(units) ? units : undefined;
}

/** A decimal as an integer of 10^-decimals, further places cut off; `undefined` for anything else. */
function scaled(text: string, decimals: number): { units: bigint; isExact: boolean } | undefined {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return {
    units: BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0')),
    isExact: !/[1-9]/.test(fraction.slice(decimals)),
  };
}
