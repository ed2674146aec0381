import type { Model } from '../../../src/plugin.ts';
import { muted } from './format.ts';
import { type Html, html } from './html.ts';
import { numbers, tableOf } from './table.ts';

type Prices = Model['pricing'];

const titles: Readonly<Record<keyof Prices, string>> = {
  prompt: 'Prompt',
  input_cache_read: 'Cached prompt',
  input_cache_write: 'Written to the cache',
  completion: 'Completion',
  web_search: 'Web search',
  request: 'Call',
};
/** Prices of one of them, and not of a token. */
const single: readonly string[] = ['web_search', 'request'];

/** What is billed, and what each of some providers is paid, side by side. */
export function priceTable(
  billed: Prices,
  paid: readonly { readonly title: string; readonly prices: Prices | undefined }[],
): Html {
  const all = [{ title: 'Billed', prices: billed as Prices | undefined }, ...paid];
  const kinds = (Object.keys(titles) as (keyof Prices)[]).filter(kind =>
    all.some(({ prices }) => prices?.[kind] !== undefined),
  );
  return tableOf(
    'Prices in US dollars',
    [
      {
        title: 'US dollars',
        cell: kind => html`${titles[kind]} ${muted(single.includes(kind) ? 'each' : 'per million')}`,
      },
      ...all.map(({ title, prices }) =>
        numbers<keyof Prices>(title, kind => {
          const price = prices?.[kind];
          if (price === undefined) return muted(prices ? '–' : 'unknown');
          return single.includes(kind) ? `$${price}` : perMillion(price);
        }),
      ),
    ],
    kinds,
  );
}

/** Exact price of a million tokens, by moving the decimal point of the price of one; at least cents. */
export function perMillion(price: string): string {
  const [whole = '', fraction = ''] = price.split('.');
  const digits = fraction.padEnd(8, '0');
  const dollars = `${whole}${digits.slice(0, 6)}`.replace(/^0+(?=\d)/, '');
  return `$${dollars}.${digits.slice(6).replace(/(?<=\d\d)0+$/, '')}`;
}
