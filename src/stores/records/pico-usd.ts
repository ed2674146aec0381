import { RecordRefused } from './database.ts';

/** Prices and so costs have at most this many decimals. */
export const cost_decimals = 12;

const pico = 10n ** BigInt(cost_decimals);

/** A decimal string of US dollars as an integer of 10⁻¹² dollars. Throws RecordRefused for more decimals than that. */
export function picoUsd(usd: string): bigint {
  const [whole = '', fraction = ''] = usd.split('.');
  if (fraction.length > cost_decimals)
    throw new RecordRefused(`${usd} has more than ${cost_decimals} decimals`);
  return BigInt(whole + fraction.padEnd(cost_decimals, '0'));
}

/** The exact decimal string, without needless zeros. */
export function usdOf(pico_usd: bigint): string {
  const fraction = (pico_usd % pico).toString().padStart(cost_decimals, '0').replace(/0+$/, '');
  return fraction === '' ? `${pico_usd / pico}` : `${pico_usd / pico}.${fraction}`;
}
