import { isObject } from '../../../src/plugin.ts';

/** One of OpenRouter's `reasoning_details`: text, a summary, or an encrypted block; must be sent back unchanged. */
export type ReasoningDetail = Readonly<Record<string, unknown>>;

/** The details listed in `value`. */
export const detailsIn = (value: unknown): readonly ReasoningDetail[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** A detail that is being assembled. */
export type OwnDetail = Record<string, unknown>;

/** Adds the details of one event, and joins the pieces of texts and summaries that belong to one block. */
export function addDetails(to: OwnDetail[], pieces: readonly ReasoningDetail[]): void {
  for (const piece of pieces) {
    const last = to.at(-1);
    if (last && isSameBlock(last, piece)) join(last, piece);
    else to.push({ ...piece });
  }
}

const isSameBlock = (last: ReasoningDetail, piece: ReasoningDetail): boolean =>
  last.type === piece.type &&
  last.index === piece.index &&
  (piece.type === 'reasoning.text' || piece.type === 'reasoning.summary') &&
  // A signature ends its block.
  last.signature == null;

/** Joins in place: copying at every piece would take quadratic time. */
function join(last: OwnDetail, piece: ReasoningDetail): void {
  const key = piece.type === 'reasoning.summary' ? 'summary' : 'text';
  const text = textOf(last[key]) + textOf(piece[key]);
  for (const [name, value] of Object.entries(piece)) {
    if (value != null && name !== '__proto__') last[name] = value;
  }
  last[key] = text;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
