import type { PageRequest } from '../page-request.ts';
import { ranges } from '../traffic-range.ts';
import { linkOf } from './format.ts';
import { type Html, html } from './html.ts';

/** Links to the same page with each range of time, of which one is chosen. */
export const rangeLinks = ({ path, query }: PageRequest, since: string): Html =>
  html`<nav class="segments" aria-label="Time">${Object.entries(ranges).map(
    ([name, { short }]) =>
      html`<a href="${linkOf(path, { ...Object.fromEntries(query), since: name })}" ${name === since && html`aria-current="true"`}>${short}</a>`,
  )}</nav>`;
