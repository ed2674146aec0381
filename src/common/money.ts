/**
 * US dollars, kept exactly as integers of 10⁻¹² dollars (`pico_usd`): prices, and so costs, have at most 12 decimals. Limits count in
 * billionths (`nano_usd`), which stay below 2^53 in Lua and JavaScript.
 */
const pico_decimals = 12;
const nano_decimals = 9;
const pico_per_usd = 10n ** BigInt(pico_decimals);

/**
 * Converts a decimal string of dollars to an integer of 10⁻¹² dollars. Throws a RangeError for anything else, and for more than 12
 * decimals.
 */
export function picoUsd(usd: string): bigint {
  const read = scaled(usd, pico_decimals);
  if (!read?.isExact) throw new RangeError(`${usd} is not a decimal with at most ${pico_decimals} decimals`);
  return read.units;
}

/** Exact decimal string of dollars, without trailing zeros. */
export function usdOf(pico_usd: bigint): string {
  const fraction = (pico_usd % pico_per_usd).toString().padStart(pico_decimals, '0').replace(/0+$/, '');
  const whole = pico_usd / pico_per_usd;
  return fraction === '' ? `${whole}` : `${whole}.${fraction}`;
}

/** Dollars as billionths, rounded up; `undefined` for anything but a decimal without exponent. */
export function nanoUsdOf(usd: string): number | undefined {
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

/** A decimal as an integer of 10^-decimals, further places cut off; `undefined` for anything else. */
function scaled(text: string, decimals: number): { units: bigint; isExact: boolean } | undefined {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return {
    units: BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0')),
    isExact: !/[1-9]/.test(fraction.slice(decimals)),
  };
}
