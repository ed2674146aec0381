import type { ListedRow } from '../../../src/plugin.ts';
import { muted } from './format.ts';
import { type Html, html } from './html.ts';

/** How a request ended: its status, and the end reason unless it was completed. */
export function endOf({
  status,
  end_reason,
  error_type,
}: Pick<ListedRow, 'status' | 'end_reason' | 'error_type'>): Html {
  const isGood = end_reason === 'completed';
  const tone = isGood ? 'good' : end_reason === 'client_gone' ? 'warn' : 'bad';
  const shown = status === 0 ? 'no reply' : status;
  return html`<span class="state ${tone}">${shown}</span> ${!isGood && end_reason} ${error_type && muted(error_type)}`;
}
