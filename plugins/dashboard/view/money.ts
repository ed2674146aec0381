import { numberOf } from './format.ts';
import { type Html, html } from './html.ts';

/** Dollars as text: `$1 234.50`, `$0.0042`. Two decimals from a dollar on, two to four below, and two digits of what is less than a cent. */
export function dollarText(usd: number): string {
  const decimals = usd >= 1 || usd === 0 ? 2 : Math.max(4, Math.ceil(-Math.log10(usd)) + 1);
  const [whole = '0', fraction = ''] = usd.toFixed(decimals).split('.');
  return `$${numberOf(Number(whole))}.${fraction.replace(/(?<=\d\d)0+$/, '')}`;
}

/** Dollars for a page, with the exact sum as the tooltip. */
export const dollars = (cost_usd: string): Html =>
  html`<data value="${cost_usd}" title="exactly ${cost_usd} USD">${dollarText(Number(cost_usd))}</data>`;
