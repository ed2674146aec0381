import { type Html, html, type Part } from './html.ts';

/** One figure of a list of them, with what there is to say of it. */
export const figure = (title: string, value: Part, more: Part): Html =>
  html`<div class="figure"><dt>${title}</dt><dd><strong>${value}</strong> <span class="muted">${more}</span></dd></div>`;
