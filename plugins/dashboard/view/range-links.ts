import type { PageRequest } from '../page-request.ts';
import { ranges } from '../traffic-range.ts';
import { linkOf } from './format.ts';
import { type Html, html } from './html.ts';
import { placeOf } from './pager.ts';

type Titles = Iterable<readonly [name: string, title: string]>;

const rangeTitles: Titles = Object.entries(ranges).map(([name, { short }]) => [name, short]);

/** Links to the same page with each range of time that ends now, of which one may be chosen. */
export const rangeLinks = ({ path, query }: PageRequest, since: string, titles = rangeTitles): Html =>
  html`<nav class="segments" aria-label="Time">${[...titles].map(
    ([name, title]) =>
      html`<a href="${linkOf(path, { ...placeOf(query).search, since: name, until: undefined })}" ${name === since && html`aria-current="true"`}>${title}</a>`,
  )}</nav>`;
